"""Quadratic assignment: facility i goes to place p(i), at the cost sum_ij F_ij D_p(i)p(j)."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import LinearOperator

from dcra import costs
from dcra._array import Host, to_numpy
from dcra._kernels import permutations
from dcra._kernels.seed import state as random_state
from dcra.bounds.dual import Stage
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, InTurn, Starts, State
from dcra.messages import shown
from dcra.methods import resolve
from dcra.model.checks import most_squared, refuse_huge, refuse_masked
from dcra.model.logic import one_of
from dcra.model.operators import MatrixFree, as_operator
from dcra.model.problem import Problem
from dcra.model.quadratic import Quadratic, as_quadratic
from dcra.model.term import vector
from dcra.result import Result, Status
from dcra.search.checks import check_seconds
from dcra.search.interrupts import on_interrupt
from dcra.search.plans import Plan, Repeat

__all__ = ["Assignment", "AssignmentProblem", "assignment_cost", "qap", "qap_problem"]

MOST_ENTRIES = 5_000_000
"""Entries up to which the quadratic term is written out; beyond, it is known by its products."""

FEW_ENTRIES = 100_000
"""The same where permutations are searched, for which products will do."""

MOVES_PER_PLACE, SHORT_STARTS = 2000, 5
"""Moves of a start for each facility; the first starts have fewer, so that there is an answer early."""

LIGHTEST, PENALTIES = 4.0**-6, 7
"""The first penalty, as a share of the last, with which no other point is better; and how many there are."""

WRITING_SHARE = 0.3
"""Share of its time that a penalty may take to write out Q; where that is more, there are fewer penalties."""

LEAST_SECONDS = 1e-3
"""Of a solve that comes when the time is over."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """permutation[i] is the place of facility i; `cost` its cost; `result` what the search gave.

    `result.method` says what ran: "swaps", or the method of the penalties before it, as in "anneal, swaps".
    A short time limit may leave no room for the latter.
    """

    permutation: Host
    cost: float
    result: Result = field(repr=False)


def qap(flow: Any, distance: Any, *, method: str | Engine = "auto", **options: Any) -> Assignment:
    """Minimise sum_ij F_ij D_p(i)p(j) over permutations p.

    Parameters
    ----------
    flow, distance : (n, n) arrays
        F and D; they need not be symmetric.
    method : str or Engine
        "auto" goes through all permutations where they are few enough, which proves the best one optimal, and
        else is tabu search over swaps. "exact" goes through all permutations after some of it, however long
        that takes. Any other method of `dcra.solve` minimises the same cost over n^2 binary variables with
        penalties for what is not a permutation; their weight grows until the answer is one, which is then
        repaired and improved by swaps. Where variables are `fixed`, rows and columns are constraints instead.
    **options
        Of `dcra.solve`.

    Examples
    --------
    >>> from dcra.apps.qap import qap
    >>> qap([[0, 1], [2, 0]], [[0, 3], [5, 0]], seed=0).cost
    11.0
    """
    begun = time.perf_counter()
    from dcra.solving.options import check_keywords

    check_keywords(options)
    F, D = _matrices(flow, distance)
    if method != "auto" and not _proves(method, len(F)) and options.get("fixed") is None:
        return _by_penalties(F, D, method, options, begun)
    from dcra.api import SolveOptions, solve_since

    progress = options.pop("progress", False)
    result = solve_since(begun, AssignmentProblem(F, D), SolveOptions(method, **options), progress)
    p = repaired(to_numpy(result.x).reshape(F.shape))
    return Assignment(p, assignment_cost(F, D, p), result)


def _proves(method: str | Engine, n: int) -> bool:
    """Whether a method proves, and can tell so many places apart."""
    engine = resolve(method)[1]
    return engine is not None and engine.plan == "prove" and n <= permutations.MOST


def assignment_cost(F: Host, D: Host, p: Host) -> float:
    """sum_ij F_ij D_p(i)p(j)."""
    return float(np.sum(F * D[np.ix_(p, p)]))


class AssignmentProblem(Problem):
    """The assignment over {0,1}: variable n i + p says that facility i is at place p.

    Every row or column sum of x that is not 1 costs `penalty` times its squared error; by default enough for
    every point that is no permutation to cost more than some that are. "auto" searches permutations. Of more
    than `most_entries` couplings only products are known; others are written out when they are first looked
    at, which "auto" does not.
    """

    specialist: ClassVar[str] = "dcra.apps.qap:SPECIALIST"
    prover: ClassVar[str] = "dcra.apps.qap_exact:proof_plan"

    def __init__(
        self,
        flow: Any,
        distance: Any,
        penalty: float | None = None,
        *,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        self.flow, self.distance = F, D = _matrices(flow, distance)
        n, enough = len(F), exact_penalty(F, D)
        self.penalty = w = enough if penalty is None else float(penalty)
        self.permutes = w >= enough
        """Whether the best permutation is the best point, also after `replace`."""
        linear, constant = np.full(n * n, -4.0 * w), 2.0 * n * w
        super().__init__(quadratic=_by_products(F, D, w), linear=linear, constant=constant, domain="binary")
        if count_entries(F, D) <= most_entries:
            del self.quadratic

    @cached_property
    def quadratic(self) -> Quadratic | None:  # type: ignore[override]  # looked at late, but an attribute
        """x'Qx; written out when it is first looked at, unless it is known by products."""
        return as_quadratic(_write_out(self.flow, self.distance, self.penalty))

    def replace(self, **changes: Any) -> Problem:
        """The same with other constraints; with another objective it is no assignment any more."""
        twin = super().replace(**changes)
        assert isinstance(twin, AssignmentProblem)
        twin.permutes = self.permutes and changes.keys() <= {"constraints"} and not twin.terms
        return twin

    def narrowable(self) -> Problem:
        """The assignment by rows: a penalty that is enough for all may be too little beside what is fixed."""
        if not self.permutes:
            return self
        n = len(self.flow)
        few = count_entries(self.flow, self.distance) <= MOST_ENTRIES
        Q = (_write_out if few else _by_products)(self.flow, self.distance, 0.0)
        cells = np.arange(n * n).reshape(n, n)
        known = {} if self.constraints is None else {"stated": self.constraints.stated()}
        once: dict[str, Any] = {"facilities": one_of(cells), "places": one_of(cells.T)}
        return Problem(quadratic=Q, domain="binary", constraints=known | once)

    def as_searched(self) -> Problem:
        """With products instead of couplings that were not written out yet, where these are many."""
        many = count_entries(self.flow, self.distance) > FEW_ENTRIES
        if "quadratic" in self.__dict__ or not self.permutes or not many:
            return self
        twin = copy(self)
        twin.quadratic = _by_products(self.flow, self.distance, self.penalty)
        return twin


def qap_problem(flow: Any, distance: Any, penalty: float | None = None) -> AssignmentProblem:
    """The problem of an assignment."""
    return AssignmentProblem(flow, distance, penalty)


class AssignmentSpecialist:
    """What "auto" does with assignments: all permutations where they are few, else swaps."""

    def plan(self, compiled: Compiled, seconds_left: float | None) -> Plan | None:
        """All permutations where they are few enough for the time that is left, else swaps."""
        from dcra.apps.qap_exact import BranchPlan, enumerable

        problem = compiled.problem
        assert isinstance(problem, AssignmentProblem)
        if not problem.permutes:
            return None
        if compiled.loops and enumerable(problem.flow, seconds_left):
            return BranchPlan(len(problem.flow))
        return Repeat(SwapTabu())

    def bound_stage(self, compiled: Compiled, fun: float, seconds: float) -> Stage | None:
        """No bound is computed beside the search."""
        return None


SPECIALIST = AssignmentSpecialist()


def exact_penalty(F: Host, D: Host) -> float:
    """More than the cost of the identity exceeds anything that a point can gain by being no permutation."""
    products = float(np.sum(np.minimum(F, 0))) * float(np.max(D, initial=0.0))
    products += float(np.sum(np.maximum(F, 0))) * float(min(0.0, np.min(D)))
    least = len(F) ** 2 * products  # every pair of places may be taken by every pair of facilities
    margin = float(np.max(np.abs(F))) * float(np.max(np.abs(D)))  # costs must not drown in the penalty
    return assignment_cost(F, D, np.arange(len(F))) - least + (margin or 1.0)


def count_entries(F: Host, D: Host) -> int:
    """How many entries of kron(F, D) are not 0."""
    return int(np.count_nonzero(F)) * int(np.count_nonzero(D))


def _write_out(F: Host, D: Host, w: float) -> Any:
    """Q of the assignment, the symmetric part of kron(F, D) and the penalties: dense where half of it is."""
    n = len(F)
    if 2 * count_entries(F, D) < n**4:
        eye, ones = np.eye(n), np.ones((n, n))
        parts = ((F, D), (w * eye, ones), (ones, w * eye))
        # by columns at once: SciPy else adds blocks, all of whose zeros it keeps
        return sum(sparse.kron(sparse.csc_array(L), sparse.csc_array(R), format="csc") for L, R in parts)
    pairs = F[:, None, :, None] * D[None, :, None, :]  # of (facility, place) and (facility, place)
    if not (np.array_equal(F, F.T) and np.array_equal(D, D.T)):
        pairs = 0.5 * (pairs + F.T[:, None, :, None] * D.T[None, :, None, :])
    for i in range(n):
        pairs[i, :, i, :] += w
        pairs[:, i, :, i] += w
    return Quadratic(as_operator(pairs.reshape(n * n, n * n)))


@dataclass(frozen=True, eq=False)
class _Products:
    """Qx without Q; a class, which can be sent to workers."""

    F: Host
    D: Host
    w: float

    def forward(self, x: Host) -> Host:
        return self._product(self.F, self.D.T, x)

    def adjoint(self, x: Host) -> Host:
        return self._product(self.F.T, self.D, x)

    def _product(self, left: Host, right: Host, x: Host) -> Host:
        X = x.reshape(self.F.shape)
        return np.ravel(left @ X @ right + self.w * (X.sum(0)[None, :] + X.sum(1)[:, None]))


def _by_products(F: Host, D: Host, w: float) -> Quadratic:
    """Q of the assignment, known by its products."""
    products, shape = _Products(F, D, w), (F.size, F.size)
    operator = LinearOperator(shape, products.forward, products.adjoint, dtype=np.float64)
    return Quadratic(MatrixFree(operator).symmetric())


def repaired(X: Host) -> Host:
    """The permutation that agrees most with an (n, n) matrix."""
    _, p = linear_sum_assignment(-X)
    return np.asarray(p)


def _by_penalties(
    F: Host, D: Host, method: str | Engine, options: dict[str, Any], begun: float
) -> Assignment:
    """Solve with a growing penalty; the last answer is repaired, and searched from by swaps."""
    from dcra.api import SolveOptions, solve_since

    limit = check_seconds("time_limit", options.pop("time_limit", None))
    progress = options.pop("progress", False)
    weights = _penalties(F, D, limit)

    def share(rounds_left: int) -> float | None:
        return (
            None
            if limit is None
            else max((limit - (time.perf_counter() - begun)) / rounds_left, LEAST_SECONDS)
        )

    ran, stopped, X = [], False, np.eye(len(F))
    with on_interrupt() as interrupted:
        for k, weight in enumerate(weights):
            asked = SolveOptions(method, share(len(weights) - k + 2), **options)
            penalised = solve_since(time.perf_counter(), qap_problem(F, D, weight), asked, progress)
            ran = [penalised.method]
            X = to_numpy(penalised.x).reshape(F.shape)
            permuted = bool(np.all(X.sum(0) == 1) and np.all(X.sum(1) == 1))
            stopped = bool(interrupted) or penalised.status is Status.CALLBACK
            if permuted or stopped or share(1) == LEAST_SECONDS:
                break
        start = np.eye(len(F))[repaired(X)]
        keep = {name: options[name] for name in options if name not in ("x0", "starts", "device")}
        swaps = SolveOptions(SwapTabu(), share(1), 1 if limit is None else None, x0=start.ravel(), **keep)
        swaps = replace(swaps, callback=lambda row: True) if stopped else swaps
        problem = AssignmentProblem(F, D, most_entries=FEW_ENTRIES)
        result = solve_since(time.perf_counter(), problem, swaps, progress)
    p = repaired(to_numpy(result.x).reshape(F.shape))
    name, seconds = ", ".join([*ran, result.method]), time.perf_counter() - begun
    return Assignment(p, assignment_cost(F, D, p), replace(result, method=name, seconds=seconds))


def _penalties(F: Host, D: Host, limit: float | None) -> list[float]:
    """Growing weights, as many as there is time to write out Q for; without any, swaps alone answer."""
    entries = min(count_entries(F, D), MOST_ENTRIES)
    writing = costs.slowdown() * costs.COUPLING_SECONDS * max(entries, 1)
    count = PENALTIES if limit is None else min(PENALTIES, int(WRITING_SHARE * limit / writing))
    shares = LIGHTEST ** np.linspace(0.0, 1.0, count)[::-1]
    return np.maximum(exact_penalty(F, D) * shares, 1e-12).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SwapTabu(Engine):
    """Tabu search over swaps of an assignment, from random permutations or near given points."""

    name: ClassVar[str] = "swaps"
    needs: ClassVar[frozenset[str]] = frozenset({"assignment"})

    def setup_work(self, compiled: Compiled) -> int:
        return 0

    def start(self, compiled: Compiled, starts: Starts) -> State:
        problem = compiled.problem
        assert isinstance(problem, AssignmentProblem)
        return AssignmentState(problem.flow, problem.distance, starts, compiled.loops)


class AssignmentState(InTurn):
    """One start after another; work is counted in pairs of facilities."""

    def __init__(self, flow: Host, distance: Host, starts: Starts, loops: bool = True) -> None:
        self.F, self.D, self.starts, self.loops = flow, distance, starts, loops
        self.n = len(flow)
        self.out = np.tile(np.arange(self.n), (starts.count, 1))
        super().__init__(starts.count)

    def begin(self) -> None:
        index = self.starts.first + self.current
        self.moves = max(1, MOVES_PER_PLACE * self.n >> max(0, SHORT_STARTS - index))
        self.p = np.random.default_rng((self.starts.seed, index)).permutation(self.n)
        if self.starts.points is not None:
            self.p = repaired(self.starts.points[self.current].reshape(self.n, self.n))
        self.best = self.out[self.current]
        self.best[:] = self.p
        self.cost = np.full(2, assignment_cost(self.F, self.D, self.p))
        self.change = np.zeros((self.n, self.n))
        if self.loops:
            from dcra._kernels.swaps import changes

            changes(self.F, self.D, self.p, self.change)
        self.until = np.zeros((self.n, self.n), np.int64)
        self.clock = np.zeros(1, np.int64)
        self.rng = random_state(self.starts.seed, index)

    def search(self, work: int) -> bool:
        if not self.loops:
            return self._descend()
        from dcra._kernels.swaps import search

        count = int(min(self.moves - self.clock[0], max(1, work // (self.n * self.n))))
        memory = (self.change, self.until, self.clock, self.rng)
        search(self.F, self.D, self.p, self.cost, self.best, *memory, count)
        self._steps += count
        return bool(self.clock[0] >= self.moves)

    def _descend(self) -> bool:
        """The best of all swaps, in array code; whether none improves."""
        change = all_changes(self.F, self.D, self.p)
        r, s = divmod(int(np.argmin(change)), self.n)
        self._steps += 1
        if change[r, s] >= -1e-12 * abs(self.cost[0]):
            return True
        self.p[[r, s]] = self.p[[s, r]]
        before, self.cost[:] = float(self.cost[0]), assignment_cost(self.F, self.D, self.p)
        if not self.cost[0] < before:  # it was rounding
            return True
        self.best[:] = self.p
        return False

    def candidates(self) -> Host:
        return spins_of(self.out)


def spins_of(permutations: Host) -> Host:
    """Permutations (k, n) as points (k, n^2) of the problem."""
    count, n = permutations.shape
    spins = np.full((count, n, n), -1.0)
    spins[np.arange(count)[:, None], np.arange(n), permutations] = 1.0
    return spins.reshape(count, -1)


def all_changes(F: Host, D: Host, p: Host) -> Host:
    """What exchanging the places of r and s changes, for all pairs: (n, n)."""
    E = D[np.ix_(p, p)]
    cross = F @ E.T + F.T @ E
    now = np.diag(cross)
    change = cross + cross.T - now[:, None] - now[None, :]
    f, e = np.diag(F), np.diag(E)
    fr, fs, er, es = f[:, None], f[None, :], e[:, None], e[None, :]
    change -= (fr - F) * (E - er) + (fr - F.T) * (
        E.T - er
    )  # r and s themselves were counted as if they stayed
    change -= (F.T - fs) * (es - E.T) + (F - fs) * (es - E)
    change += (fr - fs) * (es - er) + (F - F.T) * (E.T - E)
    return np.asarray(change)


def _matrices(flow: Any, distance: Any) -> tuple[Host, Host]:
    F, D = _matrix("flow", flow), _matrix("distance", distance)
    if F.shape != D.shape:
        raise ValueError(f"`flow` and `distance` must have one shape; got {F.shape} and {D.shape}")
    return F, D


def _matrix(name: str, given: Any) -> Host:
    refuse_masked(name, given)
    try:
        M = np.ascontiguousarray(given)
        casting: Any = "unsafe" if M.dtype == object and np.ndim(given) == 2 else "same_kind"
        M = M.astype(np.float64, casting=casting, copy=False)
    except (TypeError, ValueError) as error:
        what = "a sparse matrix" if sparse.issparse(given) else shown(given)
        raise TypeError(f"`{name}` must be a dense matrix of real numbers; got {what}") from error
    if M.ndim != 2 or M.shape[0] != M.shape[1] or M.size == 0:
        raise ValueError(f"`{name}` must be a square matrix; got shape {M.shape}")
    refuse_huge(name, vector(name, M.ravel(), M.size, np.empty(0)), most_squared(M.size, 0))
    return M
