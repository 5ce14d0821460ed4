"""Exchanges on a board, restated from the definition of the objective."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from dcra._kernels import exchange, seed
from dcra._kernels.exchange import NOBODY, SHUT
from dcra.compiled.form import compile_problem
from dcra.compiled.quadratic import thresholds
from dcra.model.problem import Problem

CELLS = np.array([[0, 1, 2, 3], [4, 5, SHUT, 6], [7, 8, 9, 10], [NOBODY, NOBODY, 11, NOBODY]])
"""Three rows and one made up, of which column 2 is somebody's even so."""
N = 12


def begin(form, at=(0, 1, 2, 3)):
    draw = np.random.default_rng(5)
    Q = draw.integers(-9, 10, (N, N)) * (draw.random((N, N)) < (1.0 if form == "dense" else 0.3))
    Q = sparse.csc_array(Q.astype(float)) if form == "sparse" else Q.astype(float)
    problem = Problem(quadratic=Q, linear=draw.integers(-9, 10, N).astype(float))
    compiled = compile_problem(problem)
    tables, s = compiled.quadratic_tables, spins(at).astype(compiled.quadratic_tables.dtype)
    g = tables.fields(s)
    return compiled, (tables.C, s, g, np.full(2, tables.value(s, g))), np.array(at)


def spins(at):
    up = CELLS[np.arange(4), list(at)]
    return np.where(np.isin(np.arange(N), up[up >= 0]), 1.0, -1.0)


def all_seatings():
    for at in itertools.permutations(range(4)):
        if np.all(CELLS[np.arange(4), list(at)] != SHUT):
            yield at


def values(compiled, points):
    return compiled.judged(np.array(points, float))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_annealing_keeps_the_seats_and_finds_the_best(form):
    compiled, point, at = begin(form)
    _, s, g, score = point
    best, rng = s.copy(), seed.state(3)
    for temperature in np.linspace(40, 1, 40).astype(s.dtype):
        ladder = np.array([temperature])
        exchange.anneal_exchanges(*point, best, rng, ladder, thresholds(s.dtype), CELLS, at)
        np.testing.assert_array_equal(s, spins(at))
        np.testing.assert_allclose(g, compiled.quadratic_tables.fields(s))
        found = np.array(score) * compiled.value_scale + compiled.offset
        np.testing.assert_allclose(found, values(compiled, [s, best]))
    assert score[1] * compiled.value_scale + compiled.offset == pytest.approx(
        values(compiled, [spins(seats) for seats in all_seatings()]).min()
    )


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("first", list(all_seatings())[::5])
def test_descent_ends_where_no_exchange_improves(form, first):
    compiled, point, at = begin(form, first)
    cursor = np.zeros(2, np.int64)
    exchange.descend_exchanges(*point, cursor, 0.0, 1000, CELLS, at)
    assert cursor[1] >= at.size
    np.testing.assert_array_equal(point[1], spins(at))
    near = [at.copy() for _ in range(6)]
    for other, (i, j) in zip(near, itertools.combinations(range(4), 2), strict=True):
        other[[i, j]] = other[[j, i]]
    near = [spins(other) for other in near if np.all(CELLS[np.arange(4), other] != SHUT)]
    assert values(compiled, near).min() >= values(compiled, [point[1]])[0]


@pytest.mark.parametrize("wrong", ["board", "low", "at", "cursor"])
def test_places_are_looked_at(wrong):
    _, point, at = begin("dense")
    board, cursor = CELLS.copy(), np.zeros(2, np.int64)
    if wrong in ("board", "low"):
        board[1, 1] = N if wrong == "board" else SHUT - 1
    elif wrong == "at":
        at[2] = 4
    else:
        cursor[0] = 4
    with pytest.raises(ValueError, match="must hold places within the arrays"):
        exchange.descend_exchanges(*point, cursor, 0.0, 10, board, at)
    if wrong != "cursor":
        s = point[1]
        end = (np.ones(2, s.dtype), thresholds(s.dtype), board, at)
        with pytest.raises(ValueError, match="`board` and `at` must hold places"):
            exchange.anneal_exchanges(*point, s.copy(), seed.state(1), *end)
