"""Clauses put in order, against their definition and against array code."""

import numpy as np
import pytest

from dcra._kernels.order import by_variable
from dcra.apps.maxsat.clauses import _in_order_by_arrays

LONGEST = 2**30 - 1


def flat(lists):
    ptr = np.concatenate([[0], np.cumsum([len(clause) for clause in lists], dtype=np.int64)])
    return ptr, np.array([v for clause in lists for v in clause], np.int64)


def plain(lists):
    """Sets in order of their variables, and which of the lists they are of."""
    keep = [not any(-v in clause for v in clause) for clause in lists]
    return [sorted(set(clause), key=abs) for clause, kept in zip(lists, keep, strict=True) if kept], keep


def drawn(seed, m, n, longest):
    """Clauses with repeated literals and negated ones, as chance has it; some are empty."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, longest + 1, m)
    return [(rng.integers(1, n + 1, size) * rng.choice([-1, 1], size)).tolist() for size in sizes]


def check(lists):
    ordered, keep = plain(lists)
    ends, literals = flat(ordered)
    found, by_arrays = by_variable(*flat(lists)), _in_order_by_arrays(*flat(lists))
    for got, want, twin in zip(found, (literals, ends, keep), by_arrays, strict=True):
        assert got.dtype == twin.dtype
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(got, twin)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "longest"), [(1, 3), (3, 4), (40, 3), (200, 40), (LONGEST, 5)])
def test_random_clauses(seed, n, longest):
    check(drawn(seed, 150, n, longest))


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 34, 700])
@pytest.mark.parametrize("signs", [1, -1, (-1, 1)])
def test_long_clauses_between_short_ones(size, signs):
    """Longer than what is sorted by insertion; most with a variable and its negation where signs differ."""
    rng = np.random.default_rng(size)
    once = rng.permutation(size) + 1
    long = rng.permutation(np.concatenate([once, once[: size // 3]])) * rng.choice(np.atleast_1d(signs))
    mixed = once * rng.choice(np.atleast_1d(signs), size)
    check([[3, -1], long.tolist(), [], [2, 2], mixed.tolist(), [*mixed.tolist(), -int(mixed[0])], [-7]])


@pytest.mark.parametrize(
    "lists",
    [
        [],
        [[]],
        [[], [], []],
        [[5]],
        [[2, -1, 2]],
        [[-4, -4, -4, -4]],
        [[1, -1]],
        [[1, 2, -1], [3, -3, 3], [-2, 2]],
        [[1, -1], [], [2, 1], [-2, 5, 2]],
        [[-LONGEST, LONGEST - 1, -LONGEST]],
    ],
)
def test_small_cases(lists):
    check(lists)


def test_what_is_given_stays_as_it_is():
    ptr, literals = flat([[3, -1, 3], [2, -2], [-5, 4]])
    before = ptr.copy(), literals.copy()
    for array in (ptr, literals):
        array.flags.writeable = False
    ordered, ends, keep = by_variable(ptr, literals)
    assert (ordered.tolist(), ends.tolist()) == ([-1, 3, 4, -5], [0, 2, 4])
    assert keep.tolist() == [True, False, True]
    for array, was in zip((ptr, literals), before, strict=True):
        np.testing.assert_array_equal(array, was)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("outside", [-1, 7, 2**40, -(2**40), 2**63 - 1, -(2**63)])
def test_clauses_that_lie_outside(place, outside):
    ptr, literals = flat([[1, -2], [3, 4], [-1, 2]])
    ptr[place] = outside
    with pytest.raises(ValueError, match="`ptr` must hold places within the arrays"):
        by_variable(ptr, literals)


@pytest.mark.parametrize("ptr", [[0, 4, 2, 6], [0, 2, 4, 5], [1, 2, 4, 6], [0]])
def test_clauses_that_do_not_rise_to_the_end(ptr):
    with pytest.raises(ValueError, match="`ptr` must hold places within the arrays"):
        by_variable(np.array(ptr, np.int64), np.arange(1, 7))


def test_arrays_that_the_loop_cannot_read():
    ptr, literals = flat([[1, -2], [3, 4]])
    with pytest.raises(ValueError, match=r"`literals` must have shape \(k\); got \(2, 2\)"):
        by_variable(ptr, literals.reshape(2, 2))
    with pytest.raises(ValueError, match=r"`ptr` must have shape \(m\+1\); got \(0,\)"):
        by_variable(ptr[:0], literals)
    with pytest.raises(TypeError, match="`literals` must be of dtype int64; got int32"):
        by_variable(ptr, literals.astype(np.int32))
    with pytest.raises(ValueError, match="`literals` must be C-contiguous"):
        by_variable(ptr, np.repeat(literals, 2)[::2])
