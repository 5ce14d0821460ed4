"""Answers in the format of the MaxSAT Evaluation: o lines while the search goes on, then s and v."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.solve import MaxSatResult
from dcra.result import Progress


class Reporter:
    """A callback that says `o COST` whenever the best feasible cost falls.

    Parameters
    ----------
    clauses : Clauses
    say : callable
        Gets one line at a time.
    """

    def __init__(self, clauses: Clauses, say: Callable[[str], Any] = print) -> None:
        self.clauses, self.say = clauses, say
        self.told: float | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.fun < self.clauses.top:
            self.tell(progress.fun)

    def tell(self, cost: float) -> None:
        """Print the line `o COST`, if it is less than what was told before."""
        if self.told is None or cost < self.told:
            self.told = cost
            self.say(f"o {_number(cost)}")


def status_line(answer: MaxSatResult) -> str:
    """`s OPTIMUM FOUND`, `s SATISFIABLE` or `s UNKNOWN`; a search cannot say UNSATISFIABLE unless proven.

    SATISFIABLE is said of hard clauses. Without any, as in .cnf files, a formula with a false clause is not
    called so.
    """
    if answer.optimal:
        return "s OPTIMUM FOUND"
    if answer.feasible and (answer.result.n_constraints or answer.cost == 0):
        return "s SATISFIABLE"
    if answer.feasible:
        return "s UNKNOWN"
    return "s UNSATISFIABLE" if answer.result.status == "infeasible" else "s UNKNOWN"


def final_lines(answer: MaxSatResult) -> list[str]:
    """The s line, and for a feasible answer the v line: one digit per variable."""
    if answer.feasible:
        return [status_line(answer), f"v {digits(answer.assignment)}"]
    word = "clause is" if answer.violated == 1 else "clauses are"
    return [f"c {answer.violated} hard {word} false in the best assignment found", status_line(answer)]


def digits(assignment: NDArray[np.bool_]) -> str:
    return "".join("1" if value else "0" for value in assignment.tolist())


def _number(cost: float) -> str:
    return str(int(cost)) if float(cost).is_integer() else repr(float(cost))
