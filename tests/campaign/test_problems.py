"""A slice of the campaign, and that its oracle sees what it is there for."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from tests.campaign import problems
from tests.campaign.cases import PROFILES, Case, Part, Rows, draw_case, smaller
from tests.campaign.oracle import findings, truth_of
from tests.campaign.problems import judged, run, shrunk

CASES = 40


def kinds(words):
    return [text.partition(":")[0] for text in words]


def plain(**changes):
    A = np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 3.0]])
    part = Part("l1", A, np.array([0.5, -1.0]), np.asarray(1.0))
    rows = Rows(np.array([[1.0, 1.0, 1.0]]), np.array([1.0]), np.array([1.0]))
    return replace(Case(3, "binary", "auto", (part,), rows=(rows,)), **changes)


@pytest.mark.parametrize("seed", [11, 12])
def test_a_slice_of_the_campaign(seed):
    counts, found = run(inf, seed, CASES, show=False)
    assert not found, "\n".join(found)
    assert sum(count for what, count in counts.items() if what.startswith("solved")) > CASES / 2


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"lower_bound": 100.0}, "bound"),
        ({"fun": 0.25}, "fun"),
        ({"status": "infeasible"}, "status"),
        ({"x": np.array([1.0, 1.0, 1.0])}, "feasible"),
        ({"x": np.array([0.5, 0.0, 0.0])}, "point"),
        ({"violation": 1.0}, "violation"),
        ({"feasible": False}, "feasible"),
        ({"lower_bound": -1.0}, "status"),
    ],
)
def test_the_oracle_sees_it(changes, kind):
    case = plain()
    result = case.solve()
    assert not findings(case, result, truth_of(case))
    assert kind in kinds(findings(case, replace(result, **changes), truth_of(case)))


def test_small_entries_beside_a_big_one_are_not_lost():
    rows = Rows(np.array([[-1e9 - 0.1, 3e-11]]), np.array([1e9 + 0.1]), np.array([1e9 + 0.1]))
    truth = truth_of(Case(2, "spin", "exact", rows=(rows,)))
    assert truth.off[:2].ravel().tolist() == [3e-11, 3e-11]  # long double rounds both away
    assert not truth.strict.any()
    assert not truth.certain.any()


def test_the_oracle_sees_a_false_optimum():
    case = plain(rows=())
    result = case.solve()
    X, truth = truth_of(case).X, truth_of(case)
    worst = int(np.argmax(truth.values))
    wrong = replace(result, x=X[worst], fun=float(truth.values[worst]), status="optimal")
    assert "status" in kinds(findings(case, wrong, truth))


def test_refusals_and_errors_are_told_apart(monkeypatch):
    rows = Rows(np.ones((1, 3)), np.array([1.0]), np.array([1.0]))
    monkeypatch.setattr(Case, "solve", lambda case: 1 / 0)
    assert kinds(judged(plain())[1]) == ["error"]

    def refuse(case):
        raise ValueError("`constraints[0]` cannot be satisfied")

    monkeypatch.setattr(Case, "solve", refuse)
    assert kinds(judged(plain(rows=(rows,)))[1]) == ["refusal"]
    assert judged(plain(rows=(replace(rows, low=np.array([9.0]), high=np.array([9.0])),)))[1] == []


def test_a_finding_is_made_smaller(monkeypatch):
    """Whatever the method says of two rows of losses is called wrong: nothing else need be left."""

    def wrong(case):
        return "solved", ["bound: too high"] if case.parts and len(case.parts[0].b) > 1 else []

    monkeypatch.setattr(problems, "judged", wrong)
    case = plain(linear=np.ones(3), quadratic=np.eye(3), sparse=True, dtype="float32", constant=3.0)
    least = shrunk(case, "bound")
    assert (least.n, least.linear, least.quadratic, least.rows) == (1, None, None, ())
    assert (least.dtype, least.sparse, least.constant, len(least.parts[0].b)) == ("float64", False, 0.0, 2)


def test_cases_are_those_of_their_seed():
    one, two = (draw_case(np.random.default_rng((3, 4))) for _ in range(2))
    assert str(one) == str(two)
    assert all(case.problem() is not None for case in smaller(plain(linear=np.ones(3))) if case.parts)


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_fill_any_shape(name):
    numbers = PROFILES[name](np.random.default_rng(0), (2, 3))
    assert numbers.shape == (2, 3)
    assert np.all(np.isfinite(numbers))
