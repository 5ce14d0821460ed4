"""Linear constraints low <= G x <= high: what users write, checked, and as rows of one sparse matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, is_array, is_numpy, to_numpy
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.checks import most_squared, refuse_huge, refuse_masked, require_indices

TOLERANCE = 1e-9
"""By how much a row may be off, in units of its smallest coefficient, where it is not of whole numbers."""

MOST_SLACK = 0.25
"""The same where rounding may cost more than that: never as much as a flip of any variable changes."""

UNNAMED = "constraints["
"""How names begin that tell the place of a constraint."""

EPS = float(np.finfo(np.float64).eps)
EXACT = 2.0**53
"""Sums of whole numbers below this are exact."""


@dataclass(frozen=True)
class Cardinality:
    """How many of some variables are up (+1, or 1); made by `exactly`, `at_most` and `at_least`."""

    k: int
    index: Any = None
    kind: str = "exactly"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer):
            raise TypeError(f"`k` must be an integer; got {self.k!r}")
        if self.k < 0:
            raise ValueError(f"`k` must not be negative; got {self.k}")
        object.__setattr__(self, "k", int(self.k))  # counts are not of NumPy's short types

    def __str__(self) -> str:
        where = "" if self.index is None else ", index=..."
        return f"{self.kind}({self.k}{where})"


def exactly(k: int, index: Any = None) -> Cardinality:
    """The constraint that exactly `k` variables are up: +1 for spins, 1 in the binary domain.

    Parameters
    ----------
    k : int
    index : sequence of int or bool mask, optional
        The variables that are counted; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> dcra.minimize(np.eye(3), [3.0, 2.0, -1.0], domain="binary", constraints=dcra.exactly(2)).x
    array([1., 1., 0.])
    """
    with importing():  # before the clock of a solve starts
        import scipy.sparse  # noqa: F401
    return Cardinality(k, index)


def at_most(k: int, index: Any = None) -> Cardinality:
    """The constraint that at most `k` variables are up: +1 for spins, 1 in the binary domain.

    Parameters
    ----------
    k : int
    index : sequence of int or bool mask, optional
        The variables that are counted; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> b, few = [3.0, 0.4, -1.0], dcra.at_most(1)
    >>> dcra.minimize(np.eye(3), b, domain="binary", constraints=few).x
    array([1., 0., 0.])
    """
    with importing():
        import scipy.sparse  # noqa: F401
    return Cardinality(k, index, "at_most")


def at_least(k: int, index: Any = None) -> Cardinality:
    """The constraint that at least `k` variables are up: +1 for spins, 1 in the binary domain.

    Parameters
    ----------
    k : int
    index : sequence of int or bool mask, optional
        The variables that are counted; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> b, two = [3.0, -2.0, 0.4], dcra.at_least(2)
    >>> dcra.minimize(np.eye(3), b, domain="binary", constraints=two).x
    array([1., 0., 1.])
    """
    with importing():
        import scipy.sparse  # noqa: F401
    return Cardinality(k, index, "at_least")


class Block(NamedTuple):
    """Rows of one constraint, low <= G x <= high, with their names."""

    G: Any
    low: Host
    high: Host
    names: list[str]
    slack: Host | None = None  # by default what the rows themselves say


class Worded(ABC):
    """A constraint that is stated in words, and knows its rows."""

    counting: bool = False  # whether its rows count variables

    @abstractmethod
    def rows(self, name: str, n: int, values: tuple[float, float]) -> Block:
        """Its rows, for n variables of which each has one of two values."""

    @abstractmethod
    def least_variables(self) -> int:
        """How many variables there must be at least."""


class StatedRows(NamedTuple):
    """lb <= A x <= ub, named as in SciPy's LinearConstraint, which it can stand for."""

    A: Any
    lb: Any
    ub: Any
    names: list[str] | None = None  # of the rows, where they have names already
    slack: Any = None  # of each row, where they are what is left of longer ones


class Group(NamedTuple):
    """Variables of which at least `least` and at most `most` are up."""

    members: Host
    least: int
    most: int


class Constraints:
    """low <= G x <= high for the points x of a domain.

    Parameters
    ----------
    given : constraint, or sequence or mapping of them
        `scipy.optimize.LinearConstraint`, `exactly`, `at_most`, `at_least`, `clause`, `one_of`, `implies`;
        keys of a mapping are their names.
    n : int
        Number of variables.
    values : (float, float)
        The two values of a variable.
    """

    def __init__(self, given: Any, n: int, values: tuple[float, float]) -> None:
        with importing():
            from scipy import sparse

        self.n, self.values = n, values
        blocks = [block_of(name, one, n, values) for name, one in named(given).items()]
        self.G = sparse.csr_array(sparse.vstack([block.G for block in blocks], format="csr"))
        self.G.sum_duplicates()
        self.G.eliminate_zeros()
        self.low = np.concatenate([block.low for block in blocks])
        self.high = np.concatenate([block.high for block in blocks])
        self.names = [name for block in blocks for name in block.names]
        reach = abs(self.G).sum(axis=1) * max(map(abs, values))
        self.whole = (reach < EXACT) & self._whole_rows()
        self.rounding = np.where(self.whole, 0.0, (np.diff(self.G.indptr) + 2) * EPS * reach)
        unit = self._smallest()
        slack = np.minimum(TOLERANCE * unit + self.rounding, MOST_SLACK * unit)
        self.slack = np.where(self.whole, 0.0, slack)
        for block, end in zip(blocks, np.cumsum([len(block.low) for block in blocks]), strict=True):
            if block.slack is not None:
                self.slack[end - len(block.low) : end] = block.slack

    def __len__(self) -> int:
        return int(self.low.size)

    def __repr__(self) -> str:
        return f"Constraints({len(self)} rows on {self.n} variables)"

    def _whole_rows(self) -> Host:
        """Which rows have whole coefficients and whole ends, or none: what they sum up to is exact."""
        broken = np.zeros(len(self), bool)
        row = np.repeat(np.arange(len(self)), np.diff(self.G.indptr))
        broken[row[np.rint(self.G.data) != self.G.data]] = True
        ends = [np.isinf(end) | (np.rint(end) == end) for end in (self.low, self.high)]
        return np.asarray(~broken & ends[0] & ends[1])

    def _smallest(self) -> Host:
        """The smallest coefficient of each row, without its sign: the unit that it is measured in."""
        found = np.full(len(self), inf)
        row = np.repeat(np.arange(len(self)), np.diff(self.G.indptr))
        np.minimum.at(found, row, np.abs(self.G.data))
        return np.where(np.isfinite(found), found, 0.0)

    def stated(self) -> StatedRows:
        """The constraints as a user could state them."""
        return StatedRows(self.G, self.low, self.high, self.names, self.slack)

    def activity(self, x: Host) -> Host:
        """G x for points of shape (n,) or (k, n), rows last."""
        return np.asarray((self.G @ np.atleast_2d(x).T).T).reshape(*x.shape[:-1], len(self))

    def excess(self, x: Host) -> Host:
        """By how much each row is violated; 0 where that is within its slack."""
        off = self.off(x)
        return np.where(off > self.slack, off, 0.0)

    def off(self, x: Host) -> Host:
        """By how much each row is off, slack or not; where rounding could decide, as if there were none."""
        activity = self.activity(x)
        off = self._off(activity, slice(None))
        doubtful = (np.abs(off - self.slack) <= self.rounding) & ~self.whole
        for at in np.argwhere(doubtful):
            *point, i = (int(index) for index in at)
            off[tuple(at)] = self._exactly_off(x[tuple(point)], i)
        return off

    def _off(self, activity: Host, rows: Any) -> Host:
        return np.asarray(np.maximum(np.maximum(self.low[rows] - activity, activity - self.high[rows]), 0.0))

    def _exactly_off(self, x: Host, i: int) -> float:
        """The same of row i at one point, from sums that are rounded once."""
        lo, hi = self.G.indptr[i : i + 2]
        products = (self.G.data[lo:hi] * x[self.G.indices[lo:hi]]).tolist()
        sides = ((-1.0, self.low[i]), (1.0, self.high[i]))
        lacks = [sign * fsum([*products, -float(end)]) for sign, end in sides if isfinite(end)]
        return max(0.0, *lacks) if lacks else 0.0

    def excess_of_rows(self, activity: Host, rows: Any) -> Host:
        """The violation of some rows, repeated if need be, at given activities."""
        off = self._off(activity, rows)
        return np.where(off > self.slack[rows], off, 0.0)

    def violation(self, x: Host) -> Host:
        """The largest violation at each point, 0 within the slack: (k,) for points (k, n)."""
        return np.asarray(np.max(self.excess(x), axis=-1, initial=0.0))

    @cached_property
    def sizes(self) -> Host:
        """The largest coefficient of each row, without its sign; 1 for empty rows."""
        size = np.asarray(abs(self.G).max(axis=1).toarray()).ravel()
        return np.where(size > 0, size, 1.0)

    def lack(self, x: Host) -> Host:
        """The violations of all rows together, each in units of its largest coefficient: (k,) for (k, n)."""
        return np.asarray(self.excess(x) @ (1.0 / self.sizes))

    def violated(self, x: Host) -> tuple[str, ...]:
        """The names of the rows that are violated at x (n,)."""
        return tuple(self.names[i] for i in np.flatnonzero(self.excess(x)))

    def furthest(self, x: Host) -> float:
        """By how much the worst row is off at x (n,), slack or not, rounded once."""
        activity = self.activity(x)
        beyond = np.maximum(self.low - activity, activity - self.high)
        off = np.maximum(beyond, 0.0)
        for i in np.flatnonzero(~self.whole & (beyond >= -self.rounding)):
            off[i] = self._exactly_off(x, int(i))
        return float(np.max(off, initial=0.0))

    @cached_property
    def equalities(self) -> Host:
        """Which rows state an equality, be it by two ends within the slack of each other."""
        return np.asarray(self.high - self.low <= 2 * self.slack)

    @cached_property
    def groups(self) -> list[Group]:
        """StatedRows that only count variables, in so far as they do not overlap; exact ones first."""
        found = [group for i in range(len(self)) if (group := self.count_of(i)) is not None]
        found.sort(key=lambda group: (group.most > group.least, -group.members.size))
        free, kept = np.ones(self.n, bool), []
        for group in found:
            if free[group.members].all():
                free[group.members] = False
                kept.append(group)
        return kept

    def count_of(self, i: int) -> Group | None:
        """Row i as a count that is bounded from above."""
        lo, hi = self.G.indptr[i : i + 2]
        members, a = self.G.indices[lo:hi].astype(np.int64), self.G.data[lo:hi]
        if a.size == 0 or np.any(a != a[0]):
            return None
        ends = np.sort(np.asarray([self.low[i], self.high[i]]) / a[0])
        room = self.slack[i] / abs(a[0])
        least, most = (ends - self.values[0] * a.size) / (self.values[1] - self.values[0])
        least = max(0.0, np.ceil(least - room)) if np.isfinite(least) else 0.0
        most = min(float(a.size), np.floor(most + room)) if np.isfinite(most) else float(a.size)
        return Group(members, int(least), int(most)) if most < a.size else None


def less(G: Any, end: Host, x: Host, whole: Host) -> Host:
    """`end`, one of each row, less G x (n,), rounded once but for the products; of whole rows it is exact."""
    left = np.asarray(end - G @ x)
    for i in np.flatnonzero(np.isfinite(end) & ~whole):
        lo, hi = G.indptr[i : i + 2]
        products = G.data[lo:hi] * x[G.indices[lo:hi]]
        left[i] = fsum([float(end[i]), *(-products).tolist()])
    return left


def spacing(*ends: Host) -> Host:
    """What one rounding of the larger end of each row may cost."""
    return np.asarray(
        np.max([np.where(np.isfinite(end), np.spacing(np.abs(end)), 0.0) for end in ends], axis=0)
    )


def moved(block: Block, x: Host, box: float) -> tuple[tuple[Host, Host], Host]:
    """The ends of rows less G x, and the slack that the rows have for points with entries up to `box`."""
    rows = Constraints(
        StatedRows(block.G, block.low, block.high, block.names, block.slack), x.size, (-box, box)
    )
    low, high = (less(rows.G, end, x, rows.whole) for end in (block.low, block.high))
    return (low, high), rows.slack + np.where(rows.whole, 0.0, spacing(low, high))


def named(given: Any) -> dict[str, Any]:
    """One constraint or several, by name: that of the user, or its place."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        if "fun" in given:
            raise TypeError(
                "`constraints` must be linear; a dict with 'fun' is one of SciPy's for functions. Write "
                "scipy.optimize.LinearConstraint(G, low, high), or a dict of names and such constraints"
            )
        return {str(name): one for name, one in given.items()}
    if isinstance(given, Sequence) and not _is_linear(given):
        return {f"{UNNAMED}{i}]": one for i, one in enumerate(given)}
    if is_constraint(given) or hasattr(given, "constraint"):
        return {f"{UNNAMED}0]": given}
    raise TypeError(unknown_constraint("constraints", given))


def is_constraint(one: Any) -> bool:
    return isinstance(one, Cardinality | Worded) or _is_linear(one)


def _is_linear(one: Any) -> bool:
    return all(hasattr(one, name) for name in ("A", "lb", "ub"))


def unknown_constraint(name: str, one: Any) -> str:
    return (
        f"`{name}` must be a scipy.optimize.LinearConstraint, dcra.exactly(k), dcra.at_most(k) or another "
        f"of dcra's constraints; got {type(one).__name__}"
    )


def block_of(name: str, one: Any, n: int, values: tuple[float, float]) -> Block:
    """Rows, lower ends, upper ends and names of one constraint."""
    if isinstance(one, Worded):
        return one.rows(name, n, values)
    if isinstance(one, Cardinality):
        return _counting_row(name, one, n, values)
    if _is_linear(one):
        return _linear_rows(name, one, n)
    raise TypeError(unknown_constraint(name, one))


def _counting_row(name: str, one: Cardinality, n: int, values: tuple[float, float]) -> Block:
    with importing():
        from scipy import sparse

    index = check_index(name, one.index, n)
    if one.k > index.size and one.kind != "at_most":
        raise ValueError(f"`{name}` asks for {one.k} variables that are up; it counts only {index.size}")
    row = np.zeros((1, n))
    row[0, index] = 1.0
    end = values[0] * (index.size - one.k) + values[1] * one.k
    low = -inf if one.kind == "at_most" else end
    high = inf if one.kind == "at_least" else end
    return Block(sparse.csr_array(row), np.asarray([low]), np.asarray([high]), [f"{name}, {one}"])


def check_index(name: str, index: Any, n: int) -> Host:
    if index is None:
        return np.arange(n)
    refuse_masked(f"index` of `{name}", index)
    array = to_numpy(index) if is_array(index) and not is_numpy(index) else np.asarray(index)
    if array.dtype == bool:
        if array.shape != (n,):
            raise ValueError(f"`index` of `{name}` must be a mask of shape ({n},); got {array.shape}")
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"`index` of `{name}` must be a sequence of integers; got {shown(index)}")
    if array.size == 0:
        raise ValueError(f"`index` of `{name}` must name at least one variable")
    if array.min() < -n or array.max() >= n:
        worst = array.min() if array.min() < -n else array.max()
        raise ValueError(f"`index` of `{name}` must lie in [0, {n}); found {worst}")
    array = array.astype(np.int64)  # it fits: it is below n
    array = np.where(array < 0, array + n, array)
    if np.unique(array).size < array.size:
        raise ValueError(f"`index` of `{name}` must name each variable once")
    return array


def _linear_rows(name: str, one: Any, n: int) -> Block:
    with importing():
        from scipy import sparse

    for end, given in (("A", one.A), ("lb", one.lb), ("ub", one.ub)):
        refuse_masked(f"{end}` of `{name}", given)
    if sparse.issparse(one.A):
        require_indices(f"A` of `{name}", one.A)
    is_sparse: bool = sparse.issparse(one.A)
    A: Any = one.A.astype(float) if is_sparse else np.atleast_2d(np.asarray(one.A, float))
    G: Any = sparse.csr_array(A)  # entries that stand twice are added in float64
    rows, columns = G.shape
    if columns != n:
        raise ValueError(f"`A` of `{name}` must have {n} columns, one for each variable; got {columns}")
    if not np.all(np.isfinite(G.data)):
        raise ValueError(f"`A` of `{name}` must be finite; it holds NaN or infinite entries")
    most = most_squared(rows, n)
    refuse_huge(f"A` of `{name}", G.data, most / n)
    low, high = _ends(name, "lb", one.lb, rows), _ends(name, "ub", one.ub, rows)
    wrong = np.flatnonzero((low > high) | (low == inf) | (high == -inf))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"`lb` of `{name}` must not be above `ub`; row {i} asks for [{low[i]:g}, {high[i]:g}]"
        )
    low[low < -most], high[high > most] = -inf, inf  # no row reaches them
    return Block(G, low, high, _row_names(name, one, rows), getattr(one, "slack", None))


def _row_names(name: str, one: Any, rows: int) -> list[str]:
    known = getattr(one, "names", None)
    if known is None and rows == 1 and not name.startswith(UNNAMED):
        return [name]
    return [f"{name}, row {i}" for i in range(rows)] if known is None else [str(row) for row in known]


def _ends(name: str, end: str, value: Any, rows: int) -> Host:
    array = np.asarray(value, dtype=float)
    try:
        array = np.broadcast_to(array, (rows,)).copy()
    except ValueError:
        raise ValueError(
            f"`{end}` of `{name}` must be a number or have shape ({rows},); got {array.shape}"
        ) from None
    if np.isnan(array).any():
        raise ValueError(f"`{end}` of `{name}` must not hold NaN")
    return array
