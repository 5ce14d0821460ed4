"""Method "auto": from the traits of a problem to a plan, with the reason. The first row that fits decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dcra import costs
from dcra._array import on_accelerator
from dcra.accelerator.device import number_of, why_not
from dcra.auto import least_squares, meeting, placement, proofs, settled
from dcra.compiled.form import Compiled
from dcra.exact.enumeration import enumerable, seconds_for
from dcra.named import load
from dcra.search.plans import Plan
from dcra.search.specialists import specialist_of
from dcra.search.state import Search

if TYPE_CHECKING:
    from dcra.model.board import Board

LAYOUT_SHARE = 0.4
"""Share of the time left that laying out A may take: the rest is better spent there than in array code."""

COUNTABLE_VARIABLES, COUNTABLE_WORK = 22, 4_000_000_000
"""Up to here all points of a constrained problem are looked at, by array code."""


@dataclass(frozen=True, eq=False)
class Traits:
    """What the decision looks at, each found out when it is first asked for."""

    search: Search
    compiled: Compiled
    seconds_left: float | None
    within: bool = False  # whether its answers go on to repair: constraints have become penalties
    shunned: bool = False  # whether the kernels of a device are out of the question

    @property
    def working(self) -> Compiled:
        """The form whose tables, too, are made only as long as there is time."""
        watched = self.search.working if self.compiled is self.search.compiled else None
        return watched or self.compiled

    @property
    def constrained(self) -> bool:
        return self.compiled.problem.constraints is not None

    @property
    def counted(self) -> bool:
        """Whether all constraints are counts of disjoint groups."""
        constraints = self.compiled.problem.constraints
        return constraints is not None and len(constraints.groups) == len(constraints)

    @property
    def without_losses(self) -> bool:
        """Whether couplings and linear costs are the whole objective."""
        return not self.compiled.pieces

    @cached_property
    def board(self) -> Board | None:
        """The board that all constraints are the rows and columns of."""
        from dcra.model.board import board_of

        constraints = self.compiled.problem.constraints
        return None if constraints is None else board_of(constraints)

    @property
    def quadratic(self) -> bool:
        return self.compiled.quadratic is not None

    @property
    def tabulated(self) -> bool:
        """Whether the loops know its losses and can have its matrices."""
        return self.compiled.tabulated

    @property
    def columns(self) -> bool:
        return self.compiled.has_columns

    @property
    def on_accelerator(self) -> bool:
        return on_accelerator(self.compiled.like)

    @property
    def device(self) -> int | None:
        """The number of the CUDA device that is asked for, or that the arrays lie on."""
        where = self.search.device
        return number_of(where) if where is not None and self.search.on_device else None

    @cached_property
    def replicas(self) -> bool:
        """Whether kernels of our own can search losses on a device, and it is worth it."""
        if self.quadratic or not self._kernels_may_be_used:
            return False
        from dcra.auto.replicas import affordable

        assert self.device is not None
        return affordable(self.compiled, self.device, self.seconds_left)

    @cached_property
    def spins(self) -> bool:
        """Whether they can search couplings there, and it is worth it."""
        if not self.quadratic or not self._kernels_may_be_used:
            return False
        from dcra.auto.spins import affordable

        assert self.device is not None
        return affordable(self.compiled, self.device, self.seconds_left)

    @property
    def _kernels_may_be_used(self) -> bool:
        """Whether there is a device, and the problem is large enough for it."""
        if self.shunned or self.within or self.device is None or why_not(self.device):
            return False
        return self.compiled.work_per_pass > placement.REPLICA_ENTRIES

    def without_device(self) -> Plan:
        """The plan of the first row that fits besides those kernels."""
        twin = replace(self, shunned=True)
        row = next(row for row in TABLE if row.fits(twin))
        plan: Plan = load(row.factory)(twin)
        return plan

    @cached_property
    def enumerable(self) -> bool:
        """Whether all points can be tried, and no specialist has fewer to try."""
        if self.within or (self.special_plan is not None and self.special_plan.exact):
            return False
        return enumerable(self.compiled, self.seconds_left, self.search.limits.share_of_work)

    @cached_property
    def countable(self) -> bool:
        """Whether array code can look at all points and their constraints in the time left."""
        compiled = self.search.relaxation
        if compiled.n > COUNTABLE_VARIABLES:
            return False
        work = 2**compiled.n * max(1, compiled.n_rows) * compiled.n
        most = self.search.limits.share_of_work * COUNTABLE_WORK
        return work <= most and self._fits(seconds_for(compiled), 1.0)

    @cached_property
    def special_plan(self) -> Plan | None:
        return specialist_of(self.compiled.problem).plan(self.compiled, self.seconds_left)

    @cached_property
    def least_squares(self) -> bool:
        return least_squares.worthwhile(self.compiled, self.seconds_left)

    @cached_property
    def laid_out(self) -> bool:
        """Whether there is time to lay out A for the loops."""
        return self._fits(costs.LAYOUT_SECONDS * self.compiled.work_per_pass, LAYOUT_SHARE)

    @cached_property
    def provable(self) -> bool:
        """Whether a tree is worth its time: of equations it knows nothing; a pool needs a longer search."""
        if self.search.pool is not None or self.meeting != meeting.Meeting():
            return False
        return proofs.worthwhile(self.search, self.seconds_left)

    @cached_property
    def settling(self) -> bool:
        """Whether a tree is to share the time once the search has settled; of equations it knows nothing."""
        return not self.within and settled.worthwhile(self) and self.meeting == meeting.Meeting()

    @cached_property
    def meeting(self) -> meeting.Meeting:
        """Which searches for solutions of its equations, if it has any, are worth their time."""
        return meeting.meeting_of(self.compiled, self.seconds_left)

    def _fits(self, seconds: float, share: float) -> bool:
        """Whether work that takes so long elsewhere fits into a share of the time left here."""
        left = self.seconds_left
        return left is None or seconds * costs.slowdown() <= share * left


class Row(NamedTuple):
    """A line of the table: the plan's name, what it is for, and 'module:factory', which takes the traits."""

    plan: str
    because: str
    fits: Callable[[Traits], bool]
    factory: str


TABLE = (
    Row(
        "feasible points",
        "there are constraints, and so few points that all can be looked at, if a tree is not closed before",
        lambda t: t.constrained and t.countable,
        "dcra.auto.all_points:try_all",
    ),
    Row(
        "counted",
        "there are counts of disjoint groups, and a quadratic part: swaps keep the ones and see the other",
        lambda t: t.counted and t.quadratic and t.tabulated,
        "dcra.constrained.counted:anneal_within_counts",
    ),
    Row(
        "exchanges",
        "there are rows and columns of which one may be up, and couplings alone: exchanges keep all of them",
        lambda t: t.constrained and t.quadratic and t.tabulated and t.without_losses and t.board is not None,
        "dcra.constrained.exchange:anneal_on_a_board",
    ),
    Row(
        "constrained",
        "there are constraints: what another row of this table finds with penalties is repaired",
        lambda t: t.constrained,
        "dcra.constrained.plan:search_with_penalties",
    ),
    Row(
        "enumeration",
        "there are so few points that all can be tried, if a tree is not closed before",
        lambda t: t.enumerable,
        "dcra.auto.all_points:try_all",
    ),
    Row(
        "specialist",
        "problems of this kind have a search of their own",
        lambda t: t.special_plan is not None,
        "dcra.auto.decision:ask_specialist",
    ),
    Row(
        "spins",
        "there is a device, and a quadratic part alone: thousands of replicas at once",
        lambda t: t.spins,
        "dcra.auto.spins:search_spins",
    ),
    Row(
        "annealing",
        "there is a quadratic part, by which flips cost O(1) to evaluate",
        lambda t: t.quadratic and t.tabulated,
        "dcra.auto.annealing:anneal",
    ),
    Row(
        "least squares",
        "squared losses with no fewer rows than variables are a quadratic",
        lambda t: t.least_squares,
        "dcra.auto.least_squares:anneal_products",
    ),
    Row(
        "replicas",
        "there is a device with kernels for these losses: thousands of replicas at once",
        lambda t: t.replicas,
        "dcra.auto.replicas:search_replicas",
    ),
    Row(
        "descents",
        "the loops know the losses, and there is time to lay out A",
        lambda t: t.tabulated and not t.quadratic and t.laid_out,
        "dcra.auto.descents:descend",
    ),
    Row(
        "rounds",
        "the arrays lie on an accelerator: many starts at once",
        lambda t: t.columns and t.on_accelerator,
        "dcra.auto.accelerator:sweep_in_rounds",
    ),
    Row(
        "array sweeps",
        "losses of the user, or no loops, or no time for them",
        lambda t: t.columns,
        "dcra.auto.accelerator:sweep_blocks",
    ),
    Row(
        "full steps",
        "A is known by its products only",
        lambda t: True,
        "dcra.auto.accelerator:take_full_steps",
    ),
)

BESIDE = (
    Row(
        "settled proof",
        "once descents agree on the best value, a tree that may prove it has half of the time",
        lambda t: t.settling,
        "dcra.auto.settled:prove_when_settled",
    ),
    Row(
        "proof",
        "the losses are sums of kinks or bounded by them, and the root of a tree that proves costs little",
        lambda t: t.provable,
        "dcra.auto.proofs:prove_beside",
    ),
    Row(
        "lattice",
        "the problem is equations between integers: a solution is a short vector of a lattice",
        lambda t: t.meeting.lattice > 0,
        "dcra.auto.equations:reduce_beside",
    ),
    Row(
        "meet in the middle",
        "the problem is a few equations between integers, and all their solutions can be found",
        lambda t: t.meeting.share > 0,
        "dcra.auto.equations:meet_beside",
    ),
    Row(
        "closest pairs",
        "the problem is more equations between integers than can be solved: near solutions",
        lambda t: t.meeting.pairs,
        "dcra.auto.equations:pair_beside",
    ),
)
"""What shares the time with the plan above, innermost last."""

ALONE = {"feasible points", "enumeration", "specialist", "replicas", "spins"}
"""Plans that share their time with none of them: done before, or with better means of their own."""

COUPLED = {"annealing": {"settled proof"}}
"""Plans that know better than to solve equations, with what may be beside them nevertheless."""


class BatchRow(NamedTuple):
    """A line of the table for many right-hand sides; `fits` takes the problem and how many there are."""

    name: str
    because: str
    fits: Callable[[Compiled, int], bool]


BATCH_BITS, BATCH_POINTS = 16, 100_000_000
"""Up to this n, and this 2^n r for all right-hand sides together, all points are tried."""

BATCH = (
    BatchRow("signs", "there are no losses: the linear part decides", lambda c, k: not c.pieces),
    BatchRow(
        "enumeration",
        "there are so few points that all can be tried for every right-hand side",
        lambda c, k: c.n <= BATCH_BITS and k * 2**c.n * c.n_rows <= BATCH_POINTS,
    ),
    BatchRow("lockstep", "the loops know the losses: annealing in lockstep", lambda c, k: c.tabulated),
    BatchRow("array sweeps", "losses of the user, other libraries, or no loops", lambda c, k: True),
)


def decide_batch(compiled: Compiled, count: int) -> BatchRow:
    """How "auto" searches one A with `count` right-hand sides."""
    return next(row for row in BATCH if row.fits(compiled, count))


class Decision(NamedTuple):
    """The row that decides, and those beside it."""

    row: Row
    beside: tuple[Row, ...]
    traits: Traits

    @property
    def names(self) -> tuple[str, ...]:
        """The plan's name, and the names of what runs beside it."""
        return (self.row.plan, *(row.plan for row in self.beside))

    @property
    def reasons(self) -> tuple[str, ...]:
        return (self.row.because, *(row.because for row in self.beside))

    def make_plan(self) -> Plan:
        plan: Plan = load(self.row.factory)(self.traits)
        for row in reversed(self.beside):
            plan = load(row.factory)(self.traits, plan)
        return plan


def decide(search: Search, compiled: Compiled | None = None) -> Decision:
    """How "auto" searches a problem; `compiled` is its penalised form where constraints are taken care of."""
    seconds = None if search.limits.time_limit is None else search.seconds_left
    traits = Traits(search, compiled or search.compiled, seconds, within=compiled is not None)
    row = next(row for row in TABLE if row.fits(traits))
    beside = () if row.plan in ALONE or traits.within else BESIDE
    welcome = COUPLED.get(row.plan, {r.plan for r in beside})
    return Decision(row, tuple(r for r in beside if r.plan in welcome and r.fits(traits)), traits)


def ask_specialist(traits: Traits) -> Plan:
    assert traits.special_plan is not None
    return traits.special_plan
