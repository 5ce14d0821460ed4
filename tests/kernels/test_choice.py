"""Tabu search over choices, move by move against its definition."""

import numpy as np
import pytest
from scipy import sparse

from dcra._kernels import seed
from dcra._kernels.choice import tabu_choices
from dcra.compiled.form import compile_problem
from dcra.model.problem import Problem

N, GROUP = 12, np.repeat(np.arange(4), 3)


def begin(form):
    draw = np.random.default_rng(5)
    Q = draw.normal(size=(N, N)) * (draw.random((N, N)) < (1.0 if form == "dense" else 0.3))
    problem = Problem(quadratic=sparse.csc_array(Q) if form == "sparse" else Q, linear=draw.normal(size=N))
    compiled = compile_problem(problem)
    tables = compiled.quadratic_tables
    s = np.where(np.arange(N) % 3 == 0, 1.0, -1.0).astype(tables.dtype)
    g = tables.fields(s)
    return compiled, (tables.C, s, g, np.full(2, tables.value(s, g)))


def neighbours(s, up):
    """Every other choice of a group: the spin that is chosen, and the point."""
    for j in range(N):
        if up[GROUP[j]] != j:
            t = s.copy()
            t[up[GROUP[j]]], t[j] = -1, 1
            yield j, t


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_every_move_is_the_best_that_is_allowed(form):
    compiled, point = begin(form)
    _, s, g, score = point
    best, up, rng = s.copy(), np.flatnonzero(s > 0), seed.state(1)
    until, clock = np.zeros(N, np.int64), np.zeros(1, np.int64)
    value = lambda t: float(compiled.judged(t[None].astype(float))[0])  # noqa: E731
    record = value(s)
    for now in range(40):
        options = {j: (value(t), t) for j, t in neighbours(s, up)}
        allowed = {j: v for j, (v, _) in options.items() if until[j] <= now or v < record - 1e-9}
        before = up.copy()
        tabu_choices(*point, best, rng, until, clock, 1, 2, 2, 1e-9, GROUP, up)
        assert clock[0] == now + 1
        if not allowed:
            np.testing.assert_array_equal(up, before)
            continue
        (moved,) = np.flatnonzero(up != before)
        assert value(s) == pytest.approx(min(allowed.values()))
        assert now + 2 <= until[before[moved]] <= now + 3
        record = min(record, value(s))
        np.testing.assert_array_equal(np.flatnonzero(s > 0), np.sort(up))
        np.testing.assert_allclose(g, compiled.quadratic_tables.fields(s), atol=1e-9)
        assert score[1] * compiled.value_scale + compiled.offset == pytest.approx(record)
        assert value(best) == pytest.approx(record)


@pytest.mark.parametrize("wrong", ["group", "up", "spread"])
def test_places_are_looked_at(wrong):
    _, point = begin("dense")
    s = point[1]
    group, up, spread = GROUP.copy(), np.flatnonzero(s > 0), 3
    if wrong == "group":
        group[3] = 4
    elif wrong == "up":
        up[0] = N
    else:
        spread = 0
    memory = np.zeros(N, np.int64), np.zeros(1, np.int64)
    match = "`spread` must be at least 1" if wrong == "spread" else "`group` and `up` must hold places"
    with pytest.raises(ValueError, match=match):
        tabu_choices(*point, s.copy(), seed.state(1), *memory, 5, 2, spread, 0.0, group, up)
