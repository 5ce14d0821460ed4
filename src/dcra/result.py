"""What a solve returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dcra._array import Array, Host, is_dask, to_numpy
from dcra.exact.couplings_certificate import AnyCertificate
from dcra.model.pool import Solutions

LINES = 20
"""Improvements that a summary lists."""

SHOWN = 6
"""Names of constraints that are printed."""

LARGEST_SHARE = 100.0
"""Gaps from here on are stated as differences: the value is nearly zero."""


class Status(StrEnum):
    """Why a solve ended; `message` says it in words."""

    OPTIMAL = "optimal"
    TARGET = "target"
    GAP = "gap"
    CONVERGED = "converged"
    TIME_LIMIT = "time_limit"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    INFEASIBLE = "infeasible"

    @property
    def message(self) -> str:
        """The status in a sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.OPTIMAL: "the answer is proven optimal",
    Status.TARGET: "the target value was reached",
    Status.GAP: "the answer is within the gap asked for",
    Status.CONVERGED: "all starts were taken to their end; there may be better points",
    Status.TIME_LIMIT: "the time limit was reached; this is the best point so far",
    Status.CALLBACK: "the callback asked to stop; this is the best point so far",
    Status.INTERRUPTED: "interrupted; this is the best point so far",
    Status.INFEASIBLE: "no point satisfies the constraints",
}


class Progress(NamedTuple):
    """A row of the history."""

    seconds: float
    fun: float
    lower_bound: float


class Moment(Progress):
    """What a callback is given: a row of the history and, on asking, its point."""

    _copy: Callable[[], Array | None]

    @classmethod
    def of(cls, row: Progress, copy: Callable[[], Array | None]) -> Self:
        moment = cls(*row)
        moment._copy = copy
        return moment

    @property
    def x(self) -> Array | None:
        """A copy of the best point of this moment; None while there is none."""
        return self._copy()


@dataclass(frozen=True, eq=False)
class Result:
    """The best point found and the story of the search.

    Attributes
    ----------
    x : (n,) array
        In the problem's domain, in the library and float type of A; in float64 where that would round it.
    fun : float
        Its objective, evaluated in float64.
    lower_bound : float
        No point of the domain has a smaller objective; -inf if none is known.
    status, message, success
        Why the search ended; success means that x is a valid point.
    history : tuple of (seconds, fun, lower_bound)
        Every improvement.
    n_starts, nit : int
        Starts taken to local answers, and iterations over all of them.
    seconds : float
        Wall-clock time of the solve.
    seed, window : int
        Give the same answer again where starts were counted; the seed is drawn when none was given.
    method : str
        What searched, such as "auto".
    tiny : float
        What rounding may have cost `fun`: differences up to it count as a gap of 0.
    feasible, violation : bool, float
        Whether x satisfies the constraints, and by how much the worst row is off, be it within the slack that
        docs/constraints.md states; of clauses, whether all hard ones are true, and how many are not.
    n_constraints, constraint_kind : int, str
        How many constraints the problem has, and of which kind: "linear", or "clause" for hard clauses.
    penalty_weights : (q,) array, optional
        The last weights of the penalties, one for each row of linear constraints.
    violated : tuple of str
        Names of the constraints that x violates, where it is not feasible: as few as could be found.
    conflict : tuple of str
        Where the status is infeasible: names of constraints that cannot hold together, none of which can be
        spared. Empty where there was no time to find out.
    n_soft, soft_cost, soft_violations : int, float, dict
        How many rows of soft constraints there are, what part of `fun` their violations are, and by how much
        each of them that is violated is, by name.
    names : tuple
        Names of the variables, where a file or labels gave them; `values` has x by them.
    pool : Solutions, optional
        Several points, best first, where `pool` asked for them: `points`, `values`, `distances`, `proven`.
    target : float, optional
        The value at which the search was to stop.
    nodes : int
        Nodes of the tree that proves, where there is one.
    fixed : (n,) bool array, optional
        Which variables the root of that tree fixed: with the other value no point is better than x.
    certificate : Certificate, optional
        The tree itself, once it is closed; `proof` writes it to a file.
    """

    x: Array
    fun: float
    lower_bound: float
    status: Status
    history: tuple[Progress, ...] = field(repr=False)
    n_starts: int
    nit: int
    seconds: float
    seed: int
    method: str
    tiny: float = field(default=0.0, repr=False)
    feasible: bool = True
    violation: float = 0.0
    n_constraints: int = 0
    constraint_kind: str = "linear"
    penalty_weights: Host | None = field(default=None, repr=False)
    violated: tuple[str, ...] = field(default=(), repr=False)
    conflict: tuple[str, ...] = field(default=(), repr=False)
    n_soft: int = 0
    soft_cost: float = 0.0
    soft_violations: dict[str, float] | None = field(default=None, repr=False)
    names: tuple[Any, ...] = field(default=(), repr=False)
    pool: Solutions | None = field(default=None, repr=False)
    target: float | None = field(default=None, repr=False)
    nodes: int = 0
    fixed: Host | None = field(default=None, repr=False)
    certificate: AnyCertificate | None = field(default=None, repr=False)
    window: int = field(default=8, repr=False)

    @property
    def message(self) -> str:
        """How the search ended, in a sentence."""
        if self.feasible or self.status is Status.INFEASIBLE:
            return self.status.message
        return f"{self.status.message}; none that satisfies the constraints was found"

    @property
    def success(self) -> bool:
        """Whether x satisfies the constraints: another word for `feasible`, as in SciPy."""
        return self.feasible

    @property
    def gap(self) -> float:
        """(fun - lower_bound) / |fun|; 0 where the difference is rounding, inf where that has no meaning."""
        return relative_gap(self.fun, self.lower_bound, self.tiny) if self.feasible else inf

    @property
    def values(self) -> dict[Any, int]:
        """x by the names of the variables; by their indices where they have none."""
        x = to_numpy(self.x).astype(int).tolist()
        return dict(zip(self.names or range(len(x)), x, strict=True))

    def __str__(self) -> str:
        return "\n".join(f"{name:>12}  {value}" for name, value in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """What is to be said, as names and values."""
        x = to_numpy(self.x)
        ones = int(np.count_nonzero(x > 0))
        return [
            ("objective", f"{self.fun:.10g}"),
            ("lower bound", self._bound_text()),
            ("status", f"{self.status.value}: {self.message}"),
            *self._constraint_rows(),
            *self._soft_rows(),
            *([] if self.pool is None else [("pool", str(self.pool))]),
            ("variables", f"{x.size}, {ones} of them up"),
            ("work", f"{self.n_starts} starts, {self.nit} iterations, {self.seconds:.3g} s"),
            *self._tree_rows(),
            ("method", f"{self.method}, seed {self.seed}"),
        ]

    def _bound_text(self) -> str:
        if self.lower_bound == -inf:
            return "none"
        text = f"{self.lower_bound:.10g}"
        if not self.feasible:
            return text
        return f"{text}  ({gap_text(self.fun, self.lower_bound, self.tiny)})"

    def summary(self) -> str:
        """The printed lines, the improvements of the search, and the pool where there is one; as text."""
        parts = [str(self), "improvements, as seconds, objective and lower bound:"]
        rows, half = self.history, LINES // 2
        if len(rows) > LINES:
            rows = (*rows[:half], *rows[-half:])
        parts += [f"{row.seconds:12.4g}  {row.fun:<16.10g}  {row.lower_bound:.10g}" for row in rows]
        if len(rows) < len(self.history):
            parts.insert(2 + half, f"{'...':>12}  {len(self.history) - len(rows)} more")
        if self.pool is not None and len(self.pool):
            parts.append("pool, as objective and variables that differ from x:")
            apart = self.pool.distances[0]
            parts += [f"{value:12.10g}  {d}" for value, d in zip(self.pool.values, apart, strict=True)]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """What a notebook shows: the printed lines as a table."""
        from dcra.plotting import as_html

        return as_html(self._rows())

    def _tree_rows(self) -> list[tuple[str, str]]:
        if self.nodes == 0:
            return []
        fixed = 0 if self.fixed is None else int(np.count_nonzero(self.fixed))
        return [("tree", f"{self.nodes} nodes, {fixed} variables fixed at the root")]

    def _constraint_rows(self) -> list[tuple[str, str]]:
        if self.n_constraints == 0:
            return []
        if self.constraint_kind == "clause":
            state = "all true" if self.feasible else f"{self.violation:.0f} FALSE"
            return [("hard clauses", f"{self.n_constraints}, {state}")]
        count = f"{self.n_constraints} row{'s' if self.n_constraints != 1 else ''}"
        state = "satisfied" if self.feasible else f"VIOLATED by {self.violation:.6g}"
        rows = [("constraints", f"{count}, {state}")]
        for name, which in (("violated", self.violated), ("conflict", self.conflict)):
            rows += [(name, _listed(which))] if which else []
        return rows

    def _soft_rows(self) -> list[tuple[str, str]]:
        if self.n_soft == 0:
            return []
        count = f"{len(self.soft_violations or {})} of {self.n_soft} rows violated"
        return [("soft", f"{count}, {self.soft_cost:.10g} of the objective")]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON; infinite values become None."""
        return {
            "x": to_numpy(self.x).astype(int).tolist(),
            "fun": self.fun,
            "lower_bound": _finite(self.lower_bound),
            "gap": _finite(self.gap),
            "status": self.status.value,
            "message": self.message,
            "success": self.success,
            "feasible": self.feasible,
            "violation": self.violation,
            "n_constraints": self.n_constraints,
            "constraint_kind": self.constraint_kind,
            "penalty_weights": None if self.penalty_weights is None else self.penalty_weights.tolist(),
            "n_starts": self.n_starts,
            "nit": self.nit,
            "nodes": self.nodes,
            "n_fixed": None if self.fixed is None else int(np.count_nonzero(self.fixed)),
            "seconds": self.seconds,
            "seed": self.seed,
            "window": self.window,
            "method": self.method,
            "violated": list(self.violated),
            "conflict": list(self.conflict),
            "n_soft": self.n_soft,
            "soft_cost": self.soft_cost,
            "soft_violations": self.soft_violations,
            "names": [str(name) for name in self.names],
            "target": None if self.target is None else _finite(self.target),
            "pool": None if self.pool is None else self.pool.to_dict(),
            "history": [[row.seconds, _finite(row.fun), _finite(row.lower_bound)] for row in self.history],
        }

    def proof(self, path: str | PathLike[str]) -> None:
        """Write the tree that proves x the best to an .npz file, which `dcra verify` checks."""
        if self.certificate is None:
            other = (
                "; trees of couplings beside losses or constraints, and of l2 and maximum losses, are not "
                "written, and there is none where all points were tried or the first lower bound sufficed"
            )
            raise ValueError(
                f"there is no tree to write: `proof` needs one that is closed, as method 'exact' leaves it "
                f"with status 'optimal'; "
                f"got status {self.status.value!r} of method {self.method!r}"
                f"{other if self.status is Status.OPTIMAL else ''}"
            )
        with open(path, "wb") as file:
            np.savez_compressed(file, **self.certificate.arrays())

    def plot(self, ax: Any = None) -> Any:
        """Draw objective, lower bound and target over time; needs matplotlib. Returns the axes."""
        from dcra.plotting import plot_history

        return plot_history(self, ax)


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Answers to many right-hand sides of one A.

    Attributes
    ----------
    x : (n, k) array
        The best point of each right-hand side, in the library and float type of A.
    fun : (k,) array
        Their objectives, evaluated in float64.
    status, message
        Why the search ended.
    seconds : float
        Wall-clock time of all of it.
    seed : int
        Gives the same answers again where starts were counted; drawn when none was given.
    method : str
        What searched.
    feasible : (k,) bool array, optional
        Which points satisfy the constraints, where there are any.
    """

    x: Array
    fun: Host
    status: Status
    seconds: float
    seed: int
    method: str
    feasible: Host | None = None

    @property
    def message(self) -> str:
        """How the search ended, in a sentence."""
        return self.status.message

    def __str__(self) -> str:
        n, k = self.x.shape
        return (
            f"{k} problems of {n} variables, mean objective {float(np.mean(self.fun)):.10g}, "
            f"{self.seconds:.3g} s ({self.status.value})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a table."""
        from dcra.plotting import as_html

        n, k = self.x.shape
        rows = [("problems", f"{k} of {n} variables")]
        if is_dask(self.fun):  # to look at it would compute it
            return as_html([*rows, ("objective", "not computed yet"), ("method", self.method)])
        rows += [
            ("objective", f"mean {float(np.mean(self.fun)):.10g}, least {float(np.min(self.fun)):.10g}"),
            ("status", f"{self.status.value}: {self.message}"),
        ]
        if self.feasible is not None:
            rows.append(("constraints", f"satisfied by {int(np.count_nonzero(self.feasible))} of {k}"))
        return as_html([*rows, ("method", f"{self.method}, seed {self.seed}, {self.seconds:.3g} s")])


def relative_gap(fun: float, lower_bound: float, tiny: float = 0.0) -> float:
    """Gap of a value to a bound; differences up to `tiny` are rounding."""
    if lower_bound == -inf or fun == inf:
        return inf
    if fun - lower_bound <= tiny:
        return 0.0
    return (fun - lower_bound) / abs(fun) if fun else inf


def gap_text(fun: float, lower_bound: float, tiny: float = 0.0, digits: int = 2) -> str:
    """The gap in words: relative, or where the value is near zero beside it, as a difference."""
    gap = relative_gap(fun, lower_bound, tiny)
    return f"gap {gap:.{digits}%}" if gap < LARGEST_SHARE else f"{fun - lower_bound:.4g} below"


def _listed(names: tuple[str, ...]) -> str:
    """The first names, and how many others there are."""
    shown = "; ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown}; and {len(names) - SHOWN} more"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
