"""What a solve returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Array, Host, to_numpy


class Status(StrEnum):
    """Why a solve ended; `message` says it in words."""

    OPTIMAL = "optimal"
    TARGET = "target"
    CONVERGED = "converged"
    TIME_LIMIT = "time_limit"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    INFEASIBLE = "infeasible"

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES = {
    Status.OPTIMAL: "the answer is proven optimal",
    Status.TARGET: "the target value was reached",
    Status.CONVERGED: "all starts were taken to their end; there may be better points",
    Status.TIME_LIMIT: "the time limit was reached; this is the best point so far",
    Status.CALLBACK: "the callback asked to stop; this is the best point so far",
    Status.INTERRUPTED: "interrupted; this is the best point so far",
    Status.INFEASIBLE: "no point satisfies the constraints",
}


class Progress(NamedTuple):
    """A row of the history, and what a callback is given."""

    seconds: float
    fun: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class Result:
    """The best point found and the story of the search.

    Attributes
    ----------
    x : (n,) array
        In the problem's domain, in the library and float type of A.
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
    seed : int
        Gives the same answer again; drawn when none was given.
    feasible, violation : bool, float
        Whether x satisfies the constraints, and by how much the worst row is off, be it within the slack that
        docs/constraints.md states; of clauses, whether all hard ones are true, and how many are not.
    n_constraints, constraint_kind : int, str
        How many constraints the problem has, and of which kind: "linear", or "clause" for hard clauses.
    penalty_weights : (q,) array, optional
        The last weights of the penalties, one for each row of linear constraints.
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

    @property
    def message(self) -> str:
        if self.feasible or self.status is Status.INFEASIBLE:
            return self.status.message
        return f"{self.status.message}; none that satisfies the constraints was found"

    @property
    def success(self) -> bool:
        return self.feasible

    @property
    def gap(self) -> float:
        """(fun - lower_bound) / |fun|; 0 where the difference is rounding, inf where no bound is known."""
        return relative_gap(self.fun, self.lower_bound, self.tiny) if self.feasible else inf

    def __str__(self) -> str:
        bound = "none" if self.lower_bound == -inf else f"{self.lower_bound:.10g}"
        bound += f"  (gap {self.gap:.2%})" if self.gap < inf else ""
        x = to_numpy(self.x)
        ones = int(np.count_nonzero(x > 0))
        rows = [
            ("objective", f"{self.fun:.10g}"),
            ("lower bound", bound),
            ("status", f"{self.status.value}: {self.message}"),
            *self._constraint_rows(),
            ("variables", f"{x.size}, {ones} of them up"),
            ("work", f"{self.n_starts} starts, {self.nit} iterations, {self.seconds:.3g} s"),
            ("method", f"{self.method}, seed {self.seed}"),
        ]
        return "\n".join(f"{name:>12}  {value}" for name, value in rows)

    def _constraint_rows(self) -> list[tuple[str, str]]:
        if self.n_constraints == 0:
            return []
        if self.constraint_kind == "clause":
            state = "all true" if self.feasible else f"{self.violation:.0f} FALSE"
            return [("hard clauses", f"{self.n_constraints}, {state}")]
        count = f"{self.n_constraints} row{'s' if self.n_constraints != 1 else ''}"
        state = "satisfied" if self.feasible else f"VIOLATED by {self.violation:.6g}"
        return [("constraints", f"{count}, {state}")]

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
            "seconds": self.seconds,
            "seed": self.seed,
            "method": self.method,
            "history": [[row.seconds, _finite(row.fun), _finite(row.lower_bound)] for row in self.history],
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw objective and lower bound over time; needs matplotlib. Returns the axes."""
        from dcra.plotting import plot_history

        return plot_history(self, ax)


@dataclass(frozen=True, eq=False)
class BatchResult:
    """Answers to many right-hand sides of one A: x (n, k), fun (k,)."""

    x: Array
    fun: Host
    status: Status
    seconds: float
    seed: int
    method: str

    @property
    def message(self) -> str:
        return self.status.message

    def __str__(self) -> str:
        n, k = self.x.shape
        return (
            f"{k} problems of {n} variables, mean objective {float(np.mean(self.fun)):.10g}, "
            f"{self.seconds:.3g} s ({self.status.value})"
        )


def relative_gap(fun: float, lower_bound: float, tiny: float = 0.0) -> float:
    """Gap of a value to a bound; differences up to `tiny` are rounding."""
    if lower_bound == -inf or fun == inf:
        return inf
    if fun - lower_bound <= tiny:
        return 0.0
    return (fun - lower_bound) / max(abs(fun), float(np.finfo(float).tiny))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
