"""Contradictions that are plain to see: every one that is refused is one, and is named."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint

from dcra import at_most, exactly
from dcra.model.constraints import Constraints
from dcra.model.infeasibility import PASSES, refuse_contradictions

VALUES = {"spin": (-1.0, 1.0), "binary": (0.0, 1.0)}
domains = pytest.mark.parametrize("domain", VALUES)


def rows(G, low, high, domain="binary"):
    G = np.atleast_2d(np.asarray(G, float))
    return Constraints(LinearConstraint(G, low, high), G.shape[1], VALUES[domain])


def feasible(constraints):
    """Whether some point satisfies all rows, by looking at every point."""
    points = np.array(list(product(constraints.values, repeat=constraints.n)))
    return bool(np.any(constraints.violation(points) == 0))


def refused(constraints):
    try:
        refuse_contradictions(constraints)
    except ValueError:
        return True
    return False


@given(
    seed=st.integers(0, 9999),
    n=st.integers(1, 8),
    count=st.integers(1, 4),
    domain=st.sampled_from(list(VALUES)),
    kind=st.sampled_from(["equal", "above", "below", "between", "mixed"]),
    whole=st.booleans(),
)
def test_what_is_refused_has_no_feasible_point(seed, n, count, domain, kind, whole):
    rng = np.random.default_rng(seed)
    G = rng.integers(-3, 4, (count, n)) * (1.0 if whole else rng.choice([0.1, 1 / 3, 7e5]))
    G[rng.random(G.shape) < 0.3] = 0
    G[-1] = rng.choice([-2.0, 1.0, 0.5]) * G[0]  # rows that can be compared
    ends = np.sort(rng.integers(-6, 7, (2, count)) * np.max(np.abs(G), initial=1.0) / 3, axis=0)
    low, high = ends[0], ends[0] if kind == "equal" else ends[1]
    low = np.where((kind == "below") | ((kind == "mixed") & (rng.random(count) < 0.3)), -inf, low)
    high = np.where((kind == "above") | ((kind == "mixed") & (rng.random(count) < 0.3)), inf, high)
    constraints = rows(G, low, high, domain)
    if refused(constraints):
        assert not feasible(constraints)


@given(seed=st.integers(0, 9999), n=st.integers(1, 8), domain=st.sampled_from(list(VALUES)))
def test_rows_with_a_feasible_point_are_accepted(seed, n, domain):
    """Equalities of numbers that are not whole, at a point of the domain: rounding is no contradiction."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((3, n)) * 10.0 ** rng.integers(-6, 7)
    x = rng.choice(VALUES[domain], n)
    refuse_contradictions(rows(G, G @ x, G @ x, domain))
    refuse_contradictions(rows(np.vstack([G, G / 3]), np.append(G @ x, G @ x / 3), inf, domain))


@given(seed=st.integers(0, 9999), n=st.integers(1, 7), domain=st.sampled_from(list(VALUES)))
def test_a_row_is_refused_exactly_where_its_interval_is_out_of_reach(seed, n, domain):
    """One inequality has no divisors and nothing to be compared with."""
    rng = np.random.default_rng(seed)
    g = rng.integers(-4, 5, n).astype(float)
    reach = np.array(list(product(VALUES[domain], repeat=n))) @ g
    end = float(rng.integers(-20, 21)) + 0.5
    assert refused(rows(g, end, inf, domain)) == (reach.max() < end)
    assert refused(rows(g, -inf, end, domain)) == (reach.min() > end)


@domains
def test_a_row_out_of_reach_says_what_it_reaches(domain):
    bottom = 3 * VALUES[domain][0]
    with pytest.raises(
        ValueError, match=rf"`constraints\[0\], row 1` .* \[4, inf\].*reach only \[{bottom:g}, 3\]"
    ):
        refuse_contradictions(rows([[1, -1, 0], [1, 1, 1]], [-1, 4], [1, inf], domain))


def test_rows_fix_variables_for_other_rows():
    with pytest.raises(
        ValueError, match=r"`constraints\[1\], exactly\(1, index=...\)` cannot be .*\[1, 1\].*\[0, 0\]"
    ):
        refuse_contradictions(Constraints([at_most(0, [0, 1]), exactly(1, [0, 1])], 3, VALUES["binary"]))
    with pytest.raises(ValueError, match="they leave no value for variable 1"):
        refuse_contradictions(rows([[1, 1, 0], [0, 1, 1]], [2, -inf], [2, 0]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@domains
def test_a_chain_of_implications(sign, domain):
    """x_0 is up, each variable raises the next, and the last must be down."""
    n = PASSES // 2
    G, low = np.zeros((n + 1, n)), np.zeros(n + 1)
    G[np.arange(n - 1), np.arange(n - 1)], G[np.arange(n - 1), np.arange(1, n)] = -1, 1  # x_{i+1} >= x_i
    G[n - 1, 0], G[n, n - 1] = 1, -1
    low[n - 1] = 1
    low[n] = -VALUES[domain][0]
    chain = rows(G, low, inf, domain) if sign > 0 else rows(-G, -inf, -low, domain)
    assert not feasible(chain)
    with pytest.raises(ValueError, match=r"cannot be satisfied|contradict each other"):
        refuse_contradictions(chain)
    loose = low.copy()
    loose[n] = -1
    refuse_contradictions(rows(G, loose, inf, domain) if sign > 0 else rows(-G, -inf, -loose, domain))


def test_multiples_of_one_row_are_compared():
    G = np.array([[1, 2, 3, 4], [-2, -4, -6, -8]])
    refuse_contradictions(rows(G, [3, -10], [4, -8]))
    with pytest.raises(
        ValueError, match=r"row 0` and `constraints\[0\], row 1` contradict .* no value satisfies both"
    ):
        refuse_contradictions(rows(G, [3, -14], [4, -12]))


def test_the_two_rows_that_are_named_are_the_two_that_clash():
    """Row 0 agrees with both others, and so is not to blame."""
    with pytest.raises(
        ValueError, match=r"`constraints\[0\], row 1` and `constraints\[0\], row 2` contradict"
    ):
        refuse_contradictions(rows(np.ones((3, 6)), [0, 0, 3], [5, 2, 4]))
    with pytest.raises(
        ValueError, match=r"`constraints\[0\], row 1` and `constraints\[0\], row 3` contradict"
    ):
        refuse_contradictions(rows(np.ones((4, 6)), [0, 3, 2, 0], [5, 4, 5, 2]))


@pytest.mark.parametrize(
    ("domain", "base", "step", "asked"),
    [("binary", 0, 2, 7), ("spin", -14, 4, 0)],
)
def test_an_equality_of_whole_numbers_needs_a_common_divisor(domain, base, step, asked):
    G = [[2, 4, 6, 2]]
    values = np.array(list(product(VALUES[domain], repeat=4))) @ np.array(G[0])
    for right in range(-24, 25):
        constraints = rows(G, right, right, domain)
        if abs(right - values.min()) % step:
            assert refused(constraints)
        elif right in values:
            refuse_contradictions(constraints)
    with pytest.raises(ValueError, match=f"differ from {base} by multiples of {step}; it asks for {asked}"):
        refuse_contradictions(rows(G, asked, asked, domain))


def test_an_equality_that_is_a_narrow_interval_is_judged_by_all_of_it():
    constraints = rows([[2, 4]], 2 - 3e-9, 2)
    assert constraints.equalities.all()
    assert feasible(constraints)
    refuse_contradictions(constraints)


def test_divisors_of_numbers_too_large_to_be_whole_are_left_alone():
    refuse_contradictions(rows([[2.0**51, 2.0**51]], 2.0**51, 2.0**51))
    refuse_contradictions(rows([[0.5, 0.25]], 0.25, 0.25))


def test_an_empty_row_is_satisfied_by_zero_alone():
    refuse_contradictions(rows([[0, 0], [1, 1]], [0, 1], [0, 1]))
    refuse_contradictions(rows([[0, 0], [1, 1]], [-1, 1], [2, 1]))
    with pytest.raises(ValueError, match=r"row 0` cannot be satisfied: it asks for \[1, 2\].*\[0, 0\]"):
        refuse_contradictions(rows([[0, 0], [1, 1]], [1, 1], [2, 1]))


@domains
def test_an_end_that_is_never_reached_does_not_loosen_the_other(domain):
    """A lower end that stands for -inf: what counts as rounding is measured by what the row can reach."""
    near, far = (rows(np.ones((1, 5)), low, 1, domain) for low in (-inf, -1e12))
    points = np.array(list(product(VALUES[domain], repeat=5)))
    np.testing.assert_array_equal(far.violation(points), near.violation(points))
    assert feasible(far)
    with pytest.raises(ValueError, match="cannot be satisfied"):
        refuse_contradictions(rows(np.ones((1, 5)), 6, 1e12, domain))
