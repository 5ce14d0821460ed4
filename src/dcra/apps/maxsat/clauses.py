"""A set of clauses, some hard, the others with weights: the input of Max-SAT."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra._kernels import library
from dcra.model.checks import refuse_masked

Ints = NDArray[np.int64]

MOST_VARIABLES = 2**30

LOW_HALF = 2**32 - 1

PLAIN = 2**30
"""Sums of weights below this are told from others that are greater by one, whatever is added to them."""


@dataclass(frozen=True, eq=False)
class Clauses:
    """Clauses over variables 1..n; clause c is literals[ptr[c]:ptr[c+1]], +v or -v for v or not v.

    Repeated literals are stored once. Clauses that hold a variable and its negation are always true and are
    left out; `tautologies` counts them. A clause without literals is always false.

    Parameters
    ----------
    n : int
    ptr : (m+1,) int64
    literals : (k,) int64
    weight : (m,) int64 or float64
        What a false clause costs; 0 for hard ones.
    hard : (m,) bool
    tautologies : int
    """

    n: int
    ptr: Ints
    literals: Ints
    weight: NDArray[Any]
    hard: NDArray[np.bool_]
    tautologies: int = 0

    def __post_init__(self) -> None:
        largest = _largest(self.literals)
        if self.n < 1 or largest > self.n or np.any(self.literals == 0):
            raise ValueError(
                f"`literals` must be +v or -v with v in 1..{self.n}; found one of size {largest}"
            )
        _check_ptr(self.ptr, self.literals, self.weight, self.hard)

    @classmethod
    def of(
        cls,
        clauses: Iterable[Sequence[int]],
        weights: Sequence[float] | NDArray[Any] | None = None,
        hard: Iterable[Sequence[int]] = (),
        n: int | None = None,
    ) -> Clauses:
        """From lists of literals.

        Parameters
        ----------
        clauses : iterable of sequences of int
            Soft clauses.
        weights : (m,) array, optional
            Positive weights of the soft clauses; 1 by default.
        hard : iterable of sequences of int
            Clauses that must be true.
        n : int, optional
            Number of variables; the largest that occurs by default.

        Examples
        --------
        >>> from dcra.apps.maxsat import Clauses
        >>> Clauses.of([[1, -2], [2]], weights=[3, 1], hard=[[-1, -2]])
        Clauses(2 variables, 2 soft, 1 hard)
        """
        soft, firm = list(clauses), list(hard)
        lists = soft + firm
        refuse_masked("weights", weights)
        given = np.ones(len(soft), np.int64) if weights is None else np.asarray(weights)
        if given.shape != (len(soft),):
            raise ValueError(
                f"`weights` must have shape ({len(soft)},), one per soft clause; got {given.shape}"
            )
        flat = _integers(lists)
        ptr = np.zeros(len(lists) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=ptr[1:])
        is_hard = np.arange(len(lists)) >= len(soft)
        weight = np.concatenate([given, np.zeros(len(firm), given.dtype)])
        return cls.from_arrays(n, ptr, flat, weight, is_hard)

    @classmethod
    def from_arrays(
        cls, n: int | None, ptr: Ints, literals: Ints, weight: NDArray[Any], hard: NDArray[np.bool_]
    ) -> Clauses:
        """From flat arrays, checked and put in order: literals by variable, without repetition."""
        largest = _largest(literals)
        n = max(largest, 1) if n is None else int(n)
        if n < 1:
            raise ValueError(f"`n` must be at least 1; got {n}")
        if np.any(literals == 0):
            raise ValueError("`clauses` must not hold the literal 0; variables are numbered from 1")
        if largest > n:
            raise ValueError(f"`n` must be at least {largest}, the largest variable that occurs; got {n}")
        if n >= MOST_VARIABLES:
            raise ValueError(f"`n` must be below {MOST_VARIABLES} variables; got {n}")
        _check_ptr(ptr, literals, weight, hard)
        _check_weight(weight, hard)
        ordered, ends, keep = _in_order(ptr, literals)
        whole = weight.astype(np.int64 if weight.dtype.kind in "iub" else np.float64)
        dropped = int(keep.size - np.count_nonzero(keep))
        return cls(n, ends, ordered, np.where(hard, 0, whole)[keep], hard[keep], dropped)

    def __repr__(self) -> str:
        firm = int(np.count_nonzero(self.hard))
        return f"Clauses({self.n} variables, {self.m - firm} soft, {firm} hard)"

    @property
    def m(self) -> int:
        """Number of clauses, hard and soft."""
        return self.hard.size

    @cached_property
    def lengths(self) -> Ints:
        """Literals of each clause."""
        return np.diff(self.ptr)

    @cached_property
    def top(self) -> int | float:
        """More than all soft clauses together can cost, in float64 too: the weight that stands for hard."""
        total = self.weight.sum()
        total = int(total) if self.weight.dtype.kind == "i" else float(total)
        return total + 1 if total < PLAIN else 2 * total + 1

    def true_literals(self, x: NDArray[Any]) -> Ints:
        """How many literals of each clause are true at x in {0,1}^n."""
        value = np.asarray(x)[np.abs(self.literals) - 1] > 0.5
        true = value == (self.literals > 0)
        total = np.concatenate([[0], np.cumsum(true, dtype=np.int64)])
        return np.asarray(total[self.ptr[1:]] - total[self.ptr[:-1]])

    def cost(self, x: NDArray[Any]) -> int | float:
        """Weight of the false soft clauses, exact for integer weights."""
        return self.charged(x)[0]

    def violated(self, x: NDArray[Any]) -> int:
        """Number of false hard clauses."""
        return self.charged(x)[1]

    def charged(self, x: NDArray[Any]) -> tuple[int | float, int]:
        """The cost and how many hard clauses are false, by one pass over the literals."""
        false = self.true_literals(x) == 0
        return self.weight[false].sum().item(), int(np.count_nonzero(self.hard & false))

    def lists(self) -> list[list[int]]:
        """The clauses as lists of literals, hard and soft in their order."""
        flat = self.literals.tolist()
        return [flat[lo:hi] for lo, hi in zip(self.ptr[:-1].tolist(), self.ptr[1:].tolist(), strict=True)]


def _integers(lists: Sequence[Sequence[int]]) -> Ints:
    """All literals, one after another; quicker than by a list of them."""
    try:
        return np.frombuffer(array("q", chain.from_iterable(lists)), np.int64)
    except TypeError as error:
        raise TypeError(f"`clauses` must hold integers, +v or -v; {error}") from error
    except OverflowError as error:
        raise ValueError(f"`n` must be below {MOST_VARIABLES} variables; found a larger literal") from error


def _in_order(ptr: Ints, literals: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Literals by variable without repetition, where clauses end, and which were kept: no tautologies."""
    ptr, literals = _in_a_row("ptr", ptr), _in_a_row("literals", literals)
    if not library.available():
        return _in_order_by_arrays(ptr, literals)
    from dcra._kernels.order import by_variable

    return by_variable(ptr, literals)


def _in_a_row(name: str, numbers: Ints) -> Ints:
    """As loops read them: 64 bits each, one after another."""
    if not np.can_cast(numbers.dtype, np.int64):
        raise TypeError(f"`{name}` must hold integers that int64 can hold; got {numbers.dtype}")
    return np.require(numbers.astype(np.int64, copy=False), requirements=("C", "A"))


def _in_order_by_arrays(ptr: Ints, literals: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """The same without compiled loops, by many passes over the literals."""
    keep = np.ones(ptr.size - 1, bool)
    clause = np.repeat(np.arange(keep.size, dtype=np.int64), np.diff(ptr))
    code = (clause << 32) | (2 * np.abs(literals) + (literals < 0))  # v and not v are neighbours
    code.sort()
    beside = (code[1:] ^ code[:-1]) < 2  # of the variable before it, in the same clause
    code &= LOW_HALF
    ordered = (code >> 1) * (1 - 2 * (code & 1))
    if not beside.any():
        return ordered, ptr.copy(), keep
    repeated = beside & (code[1:] == code[:-1])
    keep[clause[1:][beside & ~repeated]] = False
    kept = keep[clause]
    kept[1:] &= ~repeated
    counts = np.bincount(clause[kept], minlength=keep.size)[keep]
    return ordered[kept], np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), keep


def _largest(literals: Ints) -> int:
    """The largest variable that occurs; -2^63, which has no absolute value in 64 bits, included."""
    return max(-int(literals.min(initial=0)), int(literals.max(initial=0)))


def random_clauses(n: int, m: int, k: int, seed: int) -> Clauses:
    """m random clauses of k different variables out of n, signs by coin: uniform random Max-k-SAT."""
    rng = np.random.default_rng(seed)
    variables = np.argsort(rng.random((m, n)), axis=1)[:, :k] if n <= 64 else _distinct(rng, n, m, k)
    signs = rng.choice([-1, 1], (m, k))
    ptr = np.arange(0, k * m + 1, k, dtype=np.int64)
    literals = (signs * (variables + 1)).ravel().astype(np.int64)
    return Clauses.from_arrays(n, ptr, literals, np.ones(m, np.int64), np.zeros(m, bool))


def _distinct(rng: np.random.Generator, n: int, m: int, k: int) -> Ints:
    """Rows of k different numbers below n: drawn again where two agree."""
    rows = rng.integers(n, size=(m, k))
    while True:
        ordered = np.sort(rows, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not again.size:
            return rows
        rows[again] = rng.integers(n, size=(again.size, k))


def _check_ptr(ptr: Ints, literals: Ints, weight: NDArray[Any], hard: NDArray[np.bool_]) -> None:
    m = hard.size
    ends = (int(ptr[0]), int(ptr[-1])) if ptr.shape == (m + 1,) else None
    if ends != (0, literals.size) or np.any(ptr[1:] < ptr[:-1]) or weight.shape != (m,):
        raise ValueError("`ptr` must rise from 0 to the number of literals, one step for each clause")


def _check_weight(weight: NDArray[Any], hard: NDArray[np.bool_]) -> None:
    if weight.dtype.kind not in "iubf":
        raise TypeError(f"`weights` must be real numbers; got {weight.dtype}")
    soft = weight[~hard]
    if not np.all(np.isfinite(soft)):
        raise ValueError("`weights` must be finite; they hold NaN or infinite entries")
    if np.any(soft <= 0):
        raise ValueError(f"`weights` must be positive; found {soft[soft <= 0][0]}")
    if float(soft.sum(dtype=np.float64)) >= 2.0**62:
        raise ValueError("`weights` must sum to less than 2^62; divide them by a common factor")
