"""Constraints in words: clauses, implications, one of several, and what may be violated at a price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.constraints import (
    Block,
    Cardinality,
    Worded,
    block_of,
    check_index,
    is_constraint,
    unknown_constraint,
)


@dataclass(frozen=True, eq=False)
class Clause(Worded):
    """At least one of some literals is true; made by `clause`."""

    literals: tuple[int, ...]

    counting = True

    def __str__(self) -> str:
        return f"clause({list(self.literals)})" if len(self.literals) <= 6 else "clause([...])"

    def least_variables(self) -> int:
        return max(map(abs, self.literals))

    def rows(self, name: str, n: int, values: tuple[float, float]) -> Block:
        """The number of true literals, in units of a flip, is 1 at least."""
        if self.least_variables() > n:
            raise ValueError(
                f"`{name}` must have literals of variables 1 to {n}; found {self.least_variables()}"
            )
        bottom, top = values
        row = np.zeros((1, n))
        negated = 0
        for literal in set(self.literals):
            row[0, abs(literal) - 1] += 1.0 if literal > 0 else -1.0
            negated += literal < 0
        low = (top - bottom) * (1 - negated) + bottom * float(row.sum())
        return Block(_sparse(row), np.asarray([low]), np.asarray([np.inf]), [f"{name}, {self}"])


def clause(literals: Iterable[int]) -> Clause:
    """The constraint that at least one literal is true, beside any objective.

    Parameters
    ----------
    literals : sequence of int
        As in DIMACS files: 3 is true where variable number 3, x[2], is up, -3 where it is down.

    Examples
    --------
    >>> import dcra
    >>> dcra.solve(dcra.Problem(linear=[1.0, 1.0], domain="binary", constraints=dcra.clause([1, 2]))).fun
    1.0
    """
    if not isinstance(literals, Iterable):
        raise TypeError(f"`literals` must be a sequence of integers, as in clause([1, -3]); got {literals!r}")
    found = tuple(literals)
    for literal in found:
        if isinstance(literal, bool) or not isinstance(literal, int | np.integer):
            raise TypeError(f"`literals` must be integers; got {literal!r}")
        if literal == 0:
            raise ValueError("`literals` must not be 0: x[0] is variable number 1, as in DIMACS files")
    if not found:
        raise ValueError("`literals` must not be empty: a clause of none is false")
    return Clause(tuple(int(literal) for literal in found))


@dataclass(frozen=True, eq=False)
class OneOf(Worded):
    """Exactly one variable of each group is up; made by `one_of`."""

    groups: tuple[Any, ...]

    counting = True

    def __str__(self) -> str:
        return "one_of"

    def least_variables(self) -> int:
        return max(int(np.max(group, initial=-1)) for group in self.groups) + 1

    def rows(self, name: str, n: int, values: tuple[float, float]) -> Block:
        with importing():
            from scipy import sparse

        bottom, top = values
        members = [check_index(f"{name}, group {i}", group, n) for i, group in enumerate(self.groups)]
        sizes = np.asarray([index.size for index in members])
        start = np.concatenate([[0], np.cumsum(sizes)])
        parts = (np.ones(start[-1]), np.concatenate(members), start)
        end = bottom * (sizes - 1.0) + top
        names = [f"{name}, {self}, group {i}" for i in range(len(members))]
        return Block(sparse.csr_array(parts, shape=(len(members), n)), end, end.copy(), names)


def one_of(groups: Any) -> OneOf:
    """The constraint that exactly one variable of each group is up: a choice for each.

    Parameters
    ----------
    groups : sequence of sequences of int
        The variables of each group, a row of a matrix where all have as many.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> places = dcra.one_of(np.arange(6).reshape(2, 3))  # two things, three places
    >>> dcra.solve(dcra.Problem(linear=[3, 1, 2, 0, 4, 5], domain="binary", constraints=places)).x
    array([0., 1., 0., 1., 0., 0.])
    """
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"`groups` must be a sequence of sequences of indices; got {shown(groups)}")
    found = tuple(np.asarray(group) for group in groups)
    if not found:
        raise ValueError("`groups` must name at least one group")
    for i, group in enumerate(found):
        if group.ndim == 0:
            raise TypeError(
                f"`groups` must hold sequences of indices; group {i} is {group.item()!r}: "
                "for one group write one_of([[0, 1, 2]])"
            )
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu":
            raise TypeError(f"`groups` must hold sequences of indices; group {i} is {shown(group)}")
    return OneOf(found)


@dataclass(frozen=True, eq=False)
class Implies(Worded):
    """A constraint that must hold where a variable is up, or down; made by `implies`."""

    variable: int
    constraint: Any
    up: bool = True

    def __str__(self) -> str:
        return f"implies({self.variable})"

    @property
    def counting(self) -> bool:  # type: ignore[override]
        return is_counting(self.constraint)

    def least_variables(self) -> int:
        return max(self.variable + 1, least_variables(self.constraint))

    def rows(self, name: str, n: int, values: tuple[float, float]) -> Block:
        """Each end of each row, with as much room where the condition is not met as the row can need."""
        with importing():
            from scipy import sparse

        if not 0 <= self.variable < n:
            raise ValueError(f"`variable` of `{name}` must lie in [0, {n}); got {self.variable}")
        inner = block_of(name, self.constraint, n, values)
        bottom, top = values
        up, down = (np.asarray(part.sum(axis=1)).ravel() for part in (inner.G.maximum(0), inner.G.minimum(0)))
        on, off = (top, bottom) if self.up else (bottom, top)
        parts, lows, highs, names = [], [], [], []
        for below, end, extreme in (
            (True, inner.low, up * bottom + down * top),
            (False, inner.high, up * top + down * bottom),
        ):
            for i in np.flatnonzero(np.isfinite(end) & (end > extreme if below else end < extreme)):
                slope = (end[i] - extreme[i]) / (off - on)  # moves the end to the extreme where it is off
                unit = sparse.csr_array(([slope], ([0], [self.variable])), shape=(1, n))
                parts.append(sparse.csr_array(inner.G[[i], :]) + unit)
                lows.append(end[i] + slope * on if below else -np.inf)
                highs.append(np.inf if below else end[i] + slope * on)
                names.append(f"{inner.names[i]}, if x[{self.variable}] is {'up' if self.up else 'down'}")
        G = sparse.vstack(parts, format="csr") if parts else sparse.csr_array((0, n))
        return Block(G, np.asarray(lows, float), np.asarray(highs, float), names)


def implies(variable: int, constraint: Any, *, up: bool = True) -> Implies:
    """The constraint that another one holds wherever a variable is up: an indicator.

    Parameters
    ----------
    variable : int
        Index of the variable.
    constraint : LinearConstraint, `exactly`, `at_most`, `at_least`, `clause` or `one_of`
    up : bool
        False for a constraint that holds wherever the variable is down.

    Examples
    --------
    >>> import dcra
    >>> rule = dcra.implies(0, dcra.at_most(0, [1, 2]))
    >>> dcra.solve(dcra.Problem(linear=[-2.0, -1.0, -2.0], domain="binary", constraints=rule)).x
    array([0., 1., 1.])
    """
    if isinstance(variable, bool) or not isinstance(variable, int | np.integer):
        raise TypeError(f"`variable` must be the index of a variable, an integer; got {variable!r}")
    if variable < 0:
        raise ValueError(f"`variable` must not be negative; got {variable}")
    if not is_constraint(constraint):
        raise TypeError(unknown_constraint("constraint", constraint))
    return Implies(int(variable), constraint, bool(up))


def is_counting(one: Any) -> bool:
    """Whether a constraint counts variables, so that its rows are measured in flips."""
    return isinstance(one, Cardinality) or (isinstance(one, Worded) and one.counting)


def least_variables(one: Any) -> int:
    """How many variables there are at least, as far as a constraint says; 0 where it does not."""
    if isinstance(one, Worded):
        return one.least_variables()
    if isinstance(one, Cardinality):
        index = one.index
        if index is None:
            return 0
        found = np.asarray(index)
        return int(found.size if found.dtype == bool else np.max(found, initial=-1) + 1)
    return int(np.shape(one.A)[-1]) if hasattr(one, "A") else 0


def _sparse(row: Host) -> Any:
    with importing():
        from scipy import sparse

    return sparse.csr_array(row)
