"""The state of a solve under constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.constrained.penalties import Penalties
from dcra.constrained.repair import STEPS, Repair, repair_tables
from dcra.model.constraints import Constraints
from dcra.result import Status
from dcra.search.state import Search

LATE_SHARE, LATE = 0.03, 0.01
"""Of the time limit, or seconds, by which the last repair may pass it."""

SETTLING_SECONDS = 5.0
"""What HiGHS may take, at most, to say what can be said where nothing is feasible."""


@dataclass
class ConstrainedSearch(Search):
    """A search whose incumbent is feasible; the least violating of the other points is kept beside it."""

    penalties: Penalties = field(init=False)
    least: float = inf
    nearest: Host | None = None

    def __post_init__(self) -> None:
        self.penalties = Penalties(self.compiled)
        self.penalty_weights = self.penalties.weights

    @property
    def constraints(self) -> Constraints:
        return self.penalties.constraints

    @property
    def relaxation(self) -> Compiled:
        return self.penalties.compiled

    def judged(self, spins: Host) -> Host:
        values = np.full(len(spins), inf)
        fine = self.constraints.lack(self.compiled.in_domain(spins)) == 0
        values[fine] = self._values(spins[fine])
        return values

    def offer(self, spins: Host, values: Host | None = None) -> float:
        spins = np.atleast_2d(spins)
        if not len(spins):  # a tree that met nothing better
            return inf
        lack = self.constraints.lack(self.compiled.in_domain(spins))
        fine = lack == 0
        off = np.where(fine, inf, lack)
        closest = int(np.argmin(off))
        if off[closest] < self.least:
            self.least, self.nearest = float(off[closest]), spins[closest].copy()
        return super().offer(spins[fine], None if values is None else values[fine])

    def bound(self, value: float) -> None:
        if value < inf:
            super().bound(value)
        elif self.spins is None:  # every point has been looked at
            self.stop(Status.INFEASIBLE)

    def settle(self) -> None:
        """Repair the least violating point where no feasible one was met, and report what is left."""
        self.penalty_weights = self.penalties.weights
        if self.spins is None and self.status not in (Status.INTERRUPTED, Status.CALLBACK):
            self._violate_least()
        hopeless = self.status is Status.INFEASIBLE or self._late
        if self.spins is None and self.nearest is not None and not hopeless:
            x = self.compiled.in_domain(self.nearest)
            repair = Repair(repair_tables(self.constraints), x, np.zeros(x.size), self.seed)
            while repair.flips < STEPS and not repair.done and not self._late:
                repair.advance(1)
            self.offer(self.compiled.encode(repair.best))
        if self.spins is None:
            self.spins = np.ones(self.compiled.n) if self.nearest is None else self.nearest
            self.feasible = not self.constraints.violation(self.compiled.in_domain(self.spins)).any()
            self.violated = self.constraints.violated(self.compiled.in_domain(self.spins))
        self.violation = self.constraints.furthest(self.compiled.in_domain(self.spins))
        if self.feasible:  # as far as rows go: hard clauses are looked at by the problem alone
            others = float(self.compiled.problem.violation(self.compiled.decode(self.spins)))
            self.feasible, self.violation = others == 0, max(others, self.violation)
        if not self.feasible and self.status is Status.OPTIMAL:
            self.status = Status.INFEASIBLE
        self.fun = float(self.compiled.problem.objective(self.compiled.decode(self.spins)))

    @property
    def _late(self) -> bool:
        """Whether the limit has been passed by what is allowed for the last repair."""
        limit = self.limits.time_limit
        return limit is not None and self.seconds_left < -max(LATE_SHARE * limit, LATE)

    def _violate_least(self) -> None:
        """Where nothing feasible was met: the point that violates least and, if there is none, what clashes.

        HiGHS has what is left of the time for it, or some seconds.
        """
        from dcra.exact.conflicts import conflict_names, least_violating

        left = min(self.seconds_left, SETTLING_SECONDS)
        if left > 0:
            point = least_violating(self.constraints, 0.5 * left)
            if point is not None:
                self.offer(self.compiled.encode(point))
        left = min(self.seconds_left, SETTLING_SECONDS)
        if self.spins is None and left > 0:
            self.conflict = conflict_names(self.constraints, left)
            self.status = Status.INFEASIBLE if self.conflict else self.status
