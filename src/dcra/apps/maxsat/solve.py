"""The call for Max-SAT, and what it returns."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra._array import to_numpy
from dcra.api import SolveOptions, solve_since
from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.problem import ClauseProblem
from dcra.result import Result, Status
from dcra.solving.options import check_keywords


@dataclass(frozen=True, eq=False)
class MaxSatResult:
    """The best assignment found.

    Attributes
    ----------
    assignment : (n,) bool array
        Entry v - 1 is the value of variable v.
    cost : int or float
        Weight of the false soft clauses; exact for integer weights.
    violated : int
        False hard clauses; 0 in a feasible answer.
    lower_bound : float
        No feasible assignment costs less.
    result : Result
        The whole story of the search. Its `fun` counts a false hard clause with the clauses' `top`.
    """

    assignment: NDArray[np.bool_]
    cost: int | float
    violated: int
    lower_bound: float
    result: Result

    @property
    def feasible(self) -> bool:
        """Whether all hard clauses are true."""
        return self.violated == 0

    @property
    def optimal(self) -> bool:
        """Whether no assignment is better, proven."""
        return self.feasible and self.result.status is Status.OPTIMAL

    def __str__(self) -> str:
        took = f"{self.result.seconds:.3g} s"
        hard = "all hard clauses true" if self.feasible else f"{counted(self.violated)} FALSE"
        if self.result.status is Status.INFEASIBLE:
            return f"cost {self.cost}, {hard}: no assignment makes all of them true (proven), {took}"
        proof = "proven optimal" if self.optimal else f"at least {self.lower_bound:g} by bound"
        return f"cost {self.cost} ({proof}), {hard}, {took}"


def counted(hard: int) -> str:
    """ "1 hard clause", "2 hard clauses"."""
    return f"{hard} hard clause{'' if hard == 1 else 's'}"


def solve(
    clauses: Clauses | ClauseProblem | Iterable[Sequence[int]],
    weights: Sequence[float] | NDArray[Any] | None = None,
    hard: Iterable[Sequence[int]] = (),
    **options: Any,
) -> MaxSatResult:
    """Find an assignment that makes all hard clauses true, and soft ones of much weight.

    Parameters
    ----------
    clauses : Clauses, ClauseProblem or iterable of sequences of int
        Soft clauses as lists of literals +v and -v, v = 1, 2, ...; or a whole set, as read from a file.
    weights : (m,) array, optional
        Of the soft clauses, if these are lists; 1 by default.
    hard : iterable of sequences of int
        Clauses that must be true, if the soft ones are lists.
    **options
        Those of `dcra.solve`: time_limit, starts, target, seed, method, callback, n_jobs, progress.

    Examples
    --------
    >>> from dcra.apps import maxsat
    >>> answer = maxsat.solve([[1], [2], [-1, 3]], hard=[[-1, -2]], seed=0)
    >>> answer.cost, answer.feasible, answer.optimal
    (1, True, True)
    """
    begun = time.perf_counter()
    check_keywords(options)
    problem = as_problem(clauses, weights, hard)
    progress = options.pop("progress", False)
    return judged(problem, solve_since(begun, problem, SolveOptions(**options), progress))


def as_problem(clauses: Any, weights: Any = None, hard: Any = ()) -> ClauseProblem:
    """The problem of some clauses."""
    whole = isinstance(clauses, Clauses | ClauseProblem)
    if whole and (weights is not None or tuple(hard)):
        raise TypeError("`weights` and `hard` go with lists of literals; a set of clauses has its own")
    if isinstance(clauses, ClauseProblem):
        return clauses
    return ClauseProblem(clauses if isinstance(clauses, Clauses) else Clauses.of(clauses, weights, hard))


def judged(problem: ClauseProblem, result: Result) -> MaxSatResult:
    """A result in the words of Max-SAT."""
    clauses = problem.clauses
    assignment = to_numpy(result.x) > 0.5
    cost, violated = clauses.charged(assignment)
    bound = -inf if result.lower_bound == -inf else min(result.lower_bound, float(clauses.top))
    return MaxSatResult(assignment, cost, violated, max(0.0, bound), result)
