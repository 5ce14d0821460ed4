"""Constraints that cannot hold together: by name, against CP-SAT, and the point that violates least."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra.exact.conflicts import contradictory_rows, least_violating, subset
from dcra.model.constraints import Constraints


def pigeons(count, holes):
    """Each pigeon sits somewhere, and no hole has two."""
    place = np.arange(count * holes).reshape(count, holes)
    rows = {f"pigeon {i}": dcra.at_least(1, place[i]) for i in range(count)}
    return rows | {f"hole {j}": dcra.at_most(1, place[:, j]) for j in range(holes)}


@pytest.mark.parametrize("kind", ["linear", "quadratic", "losses"])
def test_pigeonholes(kind, compiled_loops):
    rng = np.random.default_rng(0)
    n = 9 * 8
    parts = {
        "linear": {"linear": rng.standard_normal(n)},
        "quadratic": {"quadratic": rng.standard_normal((n, n))},
        "losses": {"terms": [dcra.Term("l1", rng.standard_normal((5, n)), np.ones(5))]},
    }[kind]
    problem = dcra.Problem(**parts, domain="binary", constraints=pigeons(9, 8))
    result = dcra.solve(problem, seed=0, starts=6)
    assert not result.feasible
    assert result.violation == 1
    assert len(result.violated) == 1
    assert result.status == "infeasible"
    assert len(result.conflict) == 17
    assert f"violated  {result.violated[0]}" in str(result)
    assert "; and 11 more" in str(result)
    assert result.to_dict()["conflict"] == list(result.conflict)


def cp_sat_feasible(constraints):
    """What CP-SAT says of rows of whole numbers over {0,1}."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model", exc_type=ImportError)
    model = cp_model.CpModel()
    x = [model.new_bool_var(str(j)) for j in range(constraints.n)]
    for i in range(len(constraints)):
        row = constraints.G[[i]].toarray().ravel().astype(int)
        total = sum(int(a) * v for a, v in zip(row, x, strict=True) if a)
        low, high = constraints.low[i], constraints.high[i]
        if np.isfinite(low):
            model.add(total >= int(low))
        if np.isfinite(high):
            model.add(total <= int(high))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    return solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)


def random_rows(seed):
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(4, 8)), int(rng.integers(3, 9))
    G = rng.integers(-3, 4, (q, n)) * (rng.random((q, n)) < 0.7)
    G[:, 0] += G.any(axis=1) == 0
    reach = np.abs(G).sum(axis=1)
    low = np.array([rng.integers(-s, s + 1) for s in reach]).astype(float)
    return Constraints(LinearConstraint(G, low, low + rng.integers(0, 3, q)), n, (0.0, 1.0))


@pytest.mark.parametrize("part", range(4))
def test_subsets_are_contradictory_and_minimal(part):
    found = 0
    for seed in range(50 * part, 50 * part + 50):
        rows = random_rows(seed)
        subset_of = contradictory_rows(rows)
        assert bool(subset_of) == (not cp_sat_feasible(rows))
        if not subset_of:
            continue
        found += 1
        assert not cp_sat_feasible(subset(rows, subset_of))
        for i in subset_of:
            rest = [j for j in subset_of if j != i]
            assert not rest or cp_sat_feasible(subset(rows, rest))
    assert found > 20


def all_points(n):
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)


def test_the_point_that_violates_least():
    for seed in range(60):
        rows = random_rows(seed)
        best = rows.lack(all_points(rows.n)).min()
        assert rows.lack(least_violating(rows)) == pytest.approx(best, abs=1e-9)


def test_enumeration_and_searches_agree_on_it():
    for seed in range(30):
        rows = random_rows(seed)
        lack = rows.lack(all_points(rows.n))
        if not lack.min() > 0:
            continue
        try:
            problem = dcra.Problem(linear=np.ones(rows.n), domain="binary", constraints=rows.stated())
        except ValueError:
            continue
        for options in ({}, {"method": "flip", "starts": 3}, {"method": "anneal", "starts": 1}):
            result = dcra.solve(problem, seed=0, **options)
            assert rows.lack(result.x) == pytest.approx(lack.min(), abs=1e-9)
            assert result.violated == rows.violated(result.x)


def test_errors_name_what_cannot_hold_together():
    three = {"many": dcra.at_least(3), "few": dcra.at_most(1, [0, 1, 2]), "other": dcra.at_most(3, [2, 3])}
    with pytest.raises(ValueError, match=r"What cannot hold together: `many, .*`, `few, .*index=\.\.\.\)`$"):
        dcra.Problem(linear=np.ones(3 + 1), constraints={**three, "last": dcra.at_most(0, [3])})
