"""Plans that take turns at one problem: whichever has the best answer so far gets most of the work."""

from __future__ import annotations

from math import inf

from dcra.compiled.form import Compiled
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

LEAD = 3.0
"""Work of a plan that leads, in units of that of one that does not."""


class Turns(Plan):
    """The first plan begins. Turns go by work, not by seconds, so that counted starts repeat themselves."""

    def __init__(self, *plans: Plan) -> None:
        self.plans = plans
        self.begun = dict.fromkeys(plans, 0)
        self.work = dict.fromkeys(plans, 0.0)
        self.best = dict.fromkeys(plans, inf)

    def next(self, search: Search) -> Task | None:
        for plan in sorted(self.plans, key=self._served):
            task = plan.next(search)
            if task is not None:
                self.begun[plan] += 1
                return task.within(plan)
        return None

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        assert task.owner is not None
        assert task.inner is not None
        self.work[task.owner] += outcome.state.work
        self.best[task.owner] = min(self.best[task.owner], fun)
        task.owner.learn(search, task.inner, outcome, fun)

    def adopt(self, compiled: Compiled) -> None:
        """Answers have other values now."""
        for plan in self.plans:
            plan.adopt(compiled)
        self.best = dict.fromkeys(self.plans, inf)

    def _served(self, plan: Plan) -> tuple[float, int]:
        """How much of its due a plan has had."""
        leads = self.best[plan] == min(self.best.values())
        return self.work[plan] / (LEAD if leads else 1.0), self.begun[plan]
