"""Plans for equations between integers: lattices, meeting in the middle, closest pairs, beside a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcra._array import Host
from dcra.bounds.dual import rounded_up
from dcra.compiled.form import Compiled
from dcra.engines.base import Starts
from dcra.exact.box_points import BoxPoints
from dcra.exact.closest_pairs import Closest
from dcra.exact.judging import Judge
from dcra.exact.meet_in_the_middle import SEGMENTS, Meet, quarters_of
from dcra.search.plans import Outcome, Plan, Task
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

PAIRING_SHARE = 0.8
"""Share of the time for closest pairs: descents hardly ever come as near."""

MOST_BASES = 60
"""Bases of the lattice that are searched before other plans have their turn: by then hardly one is missed."""


def reduce_beside(traits: Traits, general: Plan) -> Plan:
    share = traits.meeting.lattice
    return Beside(LatticePlan(MOST_BASES if share == 1 else None), general, share)


def meet_beside(traits: Traits, general: Plan) -> Plan:
    return Beside(MeetPlan(Meet()), general, traits.meeting.share)


def pair_beside(traits: Traits, general: Plan) -> Plan:
    return Beside(PairingPlan(), general, PAIRING_SHARE)


class MeetPlan(Plan):
    """All segments of residues."""

    def __init__(self, engine: Meet) -> None:
        self.engine = engine
        self.segment = self.done = 0
        self.judge: Judge | None = None

    def next(self, search: Search) -> Task | None:
        if self.segment == SEGMENTS:
            return None
        self.segment += 1  # a share of the residues is not a start
        return Task(self.engine, Starts(search.seed, self.segment - 1, 1), counts=False)

    def complete(self, search: Search) -> bool:
        return self.done == SEGMENTS

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        self.done += 1
        if search.compiled.problem.constraints is not None:
            self._look_at(search.compiled, outcome.spins)
        if self.done == SEGMENTS:
            self._conclude(search)

    def _look_at(self, compiled: Compiled, spins: Host) -> None:
        """Judge the solutions that satisfy all constraints."""
        self.judge = self.judge or Judge(compiled)
        assert compiled.problem.constraints is not None
        feasible = spins[compiled.problem.constraints.violation(compiled.in_domain(spins)) == 0]
        if len(feasible):
            self.judge.look_at(feasible)

    def _conclude(self, search: Search) -> None:
        """All solutions are known: what remains is not the least objective, or not feasible."""
        problem = search.compiled.problem
        if search.compiled.once(quarters_of).equations.required:
            assert self.judge is not None
            search.prove(rounded_up(problem, self.judge.least))
        elif problem.integer_valued and search.fun > problem.constant:
            search.bound(1.0 + problem.constant)


class LatticePlan(Plan):
    """Random bases of the lattice, one after the other; `most` of them."""

    def __init__(self, most: int | None) -> None:
        self.count, self.most = 0, most

    def next(self, search: Search) -> Task | None:
        if self.count == self.most or (self.most is None and search.starts_left <= 0):
            return None
        self.count += 1  # a basis is not a start of a search for near solutions
        return Task(BoxPoints(), Starts(search.seed, self.count - 1, 1), counts=False)


class PairingPlan(Plan):
    """Near solutions by closest pairs, one set of free variables after another."""

    def __init__(self) -> None:
        self.count = 0

    def next(self, search: Search) -> Task | None:
        if search.starts_left <= 0:
            return None
        self.count += 1
        return Task(Closest(), Starts(search.seed, self.count - 1, 1))


class Beside(Plan):
    """Two plans: `special`, for equations, and `general`.

    Parameters
    ----------
    share : float
        Share of the time that `special` gets; at 1, `general` has what it leaves.
    """

    def __init__(self, special: Plan, general: Plan, share: float) -> None:
        self.special, self.general, self.share = special, general, share
        self.ahead = 0.0  # seconds that `special` has had more than its share

    def next(self, search: Search) -> Task | None:
        plans = [self.special, self.general]
        if self.share < 1 and self.ahead >= 0:
            plans.reverse()
        for plan in plans:
            task = plan.next(search)
            if task is not None:
                return task.within(plan)
        return None

    def learn(self, search: Search, task: Task, outcome: Outcome, fun: float) -> None:
        assert task.owner is not None
        assert task.inner is not None
        special = task.owner is self.special
        self.ahead += (1 - self.share) * outcome.seconds if special else -self.share * outcome.seconds
        task.owner.learn(search, task.inner, outcome, fun)

    def adopt(self, compiled: Compiled) -> None:
        self.general.adopt(compiled)
