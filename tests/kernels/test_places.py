"""Lists of places and cursors that point outside are refused by the loops that follow them."""

import numpy as np
import pytest

from dcra._kernels import (
    clauses,
    flip,
    mixed,
    quadratic,
    quadratic_swap,
    quadratic_sweep,
    store,
    swaps,
    sweep,
)
from dcra._kernels.formula import formula
from dcra._kernels.seed import state
from dcra.engines.rule import Rule

from .conftest import Case, to_sparse

N = 6
FAR = 2**40
ORDERS = [(place, outside) for place in (0, N - 1) for outside in (-1, N, FAR, -FAR, -(2**63))]
CURSORS = [(N, 0), (-1, 0), (FAR, 0), (0, -1)]


def order_with(place, outside):
    order = np.arange(N)
    order[place] = outside
    return order


def couplings(sparse):
    C = 8.0 * (np.ones((N, N)) - np.eye(N))
    return to_sparse(C, np.float64) if sparse else store.Dense(C)


def descents(order, cursor, sparse=False):
    """Calls that follow an order from a cursor; those without an order go along all variables."""
    case, C = Case(["l1"], n=N, sparse=sparse), couplings(sparse)
    x, z = case.point()
    g, score = np.zeros(N), np.zeros(3)
    for loop in (flip.flip, flip.pair):
        yield lambda loop=loop: loop(case.model, x, z, score, order, cursor.copy(), 2 * N)
    yield lambda: quadratic.descend(C, x, g, score[:2].copy(), order, cursor.copy(), 0.0, 2 * N)
    yield lambda: mixed.descend(case.model, C, x, z, g, score, order, cursor.copy(), 0.0, 2 * N)


def descents_of_all(cursor, sparse=False):
    case, C = Case(["l1"], n=N, sparse=sparse), couplings(sparse)
    x, z = case.point()
    g, score, counts = np.zeros(N), np.zeros(3), store.counts(x, [])
    yield lambda: quadratic.descend_pairs(C, x, g, score[:2].copy(), cursor, 0.0, 2 * N)
    yield lambda: mixed.descend_pairs(case.model, C, x, z, g, score, cursor, 0.0, 2 * N)
    yield lambda: quadratic_swap.descend_swaps(C, x, g, score[:2].copy(), cursor, 0.0, 2 * N, counts, 8.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("place", "outside"), ORDERS)
def test_orders(place, outside, sparse):
    for call in descents(order_with(place, outside), np.zeros(2, np.int64), sparse):
        with pytest.raises(ValueError, match="`order` and `cursor` must hold places within"):
            call()


@pytest.mark.parametrize("cursor", CURSORS)
def test_cursors(cursor):
    cursor = np.array(cursor)
    for call in (*descents(np.arange(N), cursor), *descents_of_all(cursor)):
        with pytest.raises(ValueError, match="`cursor` must hold places within"):
            call()


def test_a_cursor_of_nothing():
    """Trials counted below zero must not start any."""
    for call in descents(np.arange(0), np.array([0, -5])):
        with pytest.raises(ValueError, match="`cursor` must hold places within"):
            call()
    for call in descents(np.arange(0), np.array([7, 0])):
        assert call() == 0


@pytest.mark.parametrize(("place", "outside"), ORDERS)
def test_columns_and_blocks_of_sweeps(place, outside):
    case, C = Case(["l1"], n=N), couplings(False)
    wrong, right = order_with(place, outside), np.arange(N)
    for columns, blocks in ((wrong, right), (right, wrong)):
        x, z = case.point()
        trail, rest, rule = np.stack([x, x]), np.zeros(N, np.int64), np.array(Rule())
        with pytest.raises(ValueError, match="`columns` and `blocks` must hold places within"):
            sweep.sweep(case.model, trail, z, columns, blocks, rest, state(1), np.zeros(1), 0, 2, 2, rule)
    with pytest.raises(ValueError, match="`blocks` must hold places within"):
        quadratic_sweep.sweep(C, np.zeros(N), np.zeros(N), wrong, state(1), np.ones(1), 1.0, 0, 2, 2)


@pytest.mark.parametrize(("place", "outside"), ORDERS)
def test_permutations(place, outside):
    F, D, p = np.ones((N, N)), np.ones((N, N)), order_with(place, outside)
    with pytest.raises(ValueError, match="`p` must hold places within"):
        swaps.changes(F, D, p, np.zeros((N, N)))
    until, clock = np.zeros((N, N), np.int64), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="`p` must hold places within"):
        swaps.search(F, D, p, np.zeros(2), p.copy(), np.zeros((N, N)), until, clock, state(1), 3)


@pytest.mark.parametrize(("place", "outside"), ORDERS)
def test_orders_of_propagation(place, outside):
    f = formula(np.array([0, 2, 4]), np.array([1, -2, 3, 6]), N, np.ones(2), np.array([True, False]))
    scratch = np.zeros(N, np.uint8), np.zeros(2, np.int32), np.zeros(2, np.uint8), np.zeros(N, np.int32)
    with pytest.raises(ValueError, match="`order` must hold places within"):
        clauses.propagate(f, np.zeros(N, np.uint8), order_with(place, outside), *scratch)
