"""When a search has settled: many descents from points of their own have ended at one value.

More of them hardly find a better one then; what is left to learn is whether there is any.
"""

from __future__ import annotations

from math import inf, isclose

from dcra.search.plans import Task
from dcra.search.state import Search

AGREED = 10
"""Descents that have ended at the best value, each from a random point."""

SAME = 1e-12
"""Relative difference up to which two values are one, rounded in different orders."""


class Agreement:
    """Counts the descents that have ended at the best value."""

    def __init__(self) -> None:
        self.count, self.value = 0, inf

    def hear_of(self, search: Search, task: Task, fun: float) -> None:
        """A task has ended at this value."""
        if task.starts.points is not None or not task.counts:
            return
        if self.value != search.fun:
            self.count, self.value = 0, search.fun
        self.count += isclose(fun, search.fun, rel_tol=SAME, abs_tol=1e-15 * search.scale)

    def __bool__(self) -> bool:
        return self.count >= AGREED
