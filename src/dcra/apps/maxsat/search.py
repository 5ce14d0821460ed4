"""Engines over clauses: annealing, and descent with growing weights where there are hard clauses."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcra._kernels.formula import Formula, formula, walk
from dcra._kernels.seed import state as random_state
from dcra.apps.maxsat.clauses import Clauses
from dcra.compiled import Compiled
from dcra.engines.base import Engine, Host, Starts, State
from dcra.polish.points import initial_spins

NEEDS = frozenset({"clauses"})


@dataclass(frozen=True)
class ClauseAnneal(Engine):
    """Metropolis flips over clauses while the temperature falls.

    Parameters
    ----------
    passes : int
        Passes over the variables, each at its own temperature.
    hot, cold : float
        First and last temperature, in units of what a flip typically changes at a random point. The last
        is lower where light clauses would not feel it.
    """

    passes: int = 2000
    hot: float = 0.25
    cold: float = 0.07

    name: ClassVar[str] = "clause-anneal"
    needs: ClassVar[frozenset[str]] = NEEDS

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"`passes` must be at least 1; got {self.passes}")
        if not self.hot >= self.cold > 0:
            raise ValueError(f"`hot` >= `cold` > 0 must hold; got {self.hot!r} and {self.cold!r}")

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return AnnealClauses(self, compiled, starts)


@dataclass(frozen=True)
class ClauseWalk(Engine):
    """Descent that makes false clauses heavier wherever nothing improves.

    Parameters
    ----------
    moves : int
        Flips of one start.
    """

    moves: int = 200_000

    name: ClassVar[str] = "clause-walk"
    needs: ClassVar[frozenset[str]] = NEEDS

    def __post_init__(self) -> None:
        if self.moves < 1:
            raise ValueError(f"`moves` must be at least 1; got {self.moves}")

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return WalkClauses(self, compiled, starts)


class ClauseState(State):
    """One start after another; `best` is [false hard clauses, cost] of `best_x`."""

    lists: ClassVar[bool]

    def __init__(self, compiled: Compiled, starts: Starts, weight: NDArray[Any]) -> None:
        from dcra._kernels.clauses import place

        self.compiled, self.starts = compiled, starts
        self.clauses, self.formula = parts(compiled)
        self.weight = weight
        self.out = initial_spins(compiled, starts)
        self.best_value = inf
        self.place = place
        self.current = -1
        self._steps = 0
        self._work = 0.0
        self._next_start()

    def _next_start(self) -> None:
        self.current += 1
        if self.done:
            return
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)
        x = (self.out[self.current] > 0).astype(np.uint8)
        if self.starts.points is None and self.clauses.hard.any():
            self._follow_units(x)
        self.walk = walk(self.formula, x, self.weight, self.lists)
        self.place(self.formula, self.walk)
        self.best_x, self.best = x.copy(), self.walk.total.copy()
        self._work += 2.0 * self.formula.lit.size
        self.done_steps = 0

    def _follow_units(self, x: NDArray[np.uint8]) -> None:
        """Let hard clauses decide what they force once the rest is drawn."""
        from dcra._kernels.clauses import propagate

        m, n = self.formula.hard.size, x.size
        order = np.random.default_rng((self.starts.seed, self.starts.first + self.current, 1)).permutation(n)
        scratch = (np.zeros(n, np.uint8), np.empty(m, np.int32), np.zeros(m, np.uint8), np.empty(n, np.int32))
        propagate(self.formula, x, order, *scratch)

    @abstractmethod
    def search(self, work: int) -> bool:
        """Go on for about `work` entries; True when this start is finished."""

    def advance(self, work: int) -> None:
        if self.done:
            return
        finished = self.search(work)
        self.out[self.current] = np.where(self.best_x > 0, 1.0, -1.0)
        if finished:
            value = float(self.best[0]) * self.clauses.top + float(self.best[1])
            self.best_value = min(self.best_value, value)
            self._next_start()

    @property
    def pace(self) -> float:
        """Entries that a step has touched so far, in the mean."""
        return max(1.0, self._work / self._steps) if self._steps else 2.0 * self.compiled.work_per_pass

    @property
    def done(self) -> bool:
        return self.current >= self.starts.count

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def work(self) -> float:
        return self._work

    def estimate(self) -> float | None:
        return self.best_value + empty_cost(self.clauses) if self.done else None

    def candidates(self) -> Host:
        return self.out


class AnnealClauses(ClauseState):
    lists = False

    def __init__(self, engine: ClauseAnneal, compiled: Compiled, starts: Starts) -> None:
        clauses, built = parts(compiled)
        weight = penalties(clauses, built)
        unit = typical_change(built, weight)
        cold = min(engine.cold * unit, LIGHT_SHARE * lightest(built))
        self.temperatures = np.geomspace(engine.hot * unit, cold, engine.passes)
        super().__init__(compiled, starts, weight)

    def search(self, work: int) -> bool:
        from dcra._kernels.clauses import anneal_clauses

        count = int(min(self.temperatures.size - self.done_steps, max(1.0, work / self.pace)))
        ladder = self.temperatures[self.done_steps : self.done_steps + count]
        self._work += anneal_clauses(self.formula, self.walk, self.best_x, self.best, self.rng, ladder)
        self._steps += count
        self.done_steps += count
        return bool(self.done_steps >= self.temperatures.size) or not self.best.any()


class WalkClauses(ClauseState):
    lists = True

    def __init__(self, engine: ClauseWalk, compiled: Compiled, starts: Starts) -> None:
        self.moves = engine.moves
        _, built = parts(compiled)
        hard = built.hard > 0
        soft_mean = float(built.cost[~hard].mean()) if not hard.all() else 1.0
        self.step = np.where(hard, HARD_STEP, built.cost / soft_mean)
        self.cap = np.where(hard, np.inf, SOFT_CAP * self.step)
        super().__init__(compiled, starts, np.where(hard, 1.0, 0.0))

    def search(self, work: int) -> bool:
        from dcra._kernels.clauses import walk_clauses

        count = int(min(self.moves - self.done_steps, max(1.0, work / self.pace)))
        point = (self.formula, self.walk, self.best_x, self.best, self.rng)
        done = walk_clauses(*point, count, self.step, self.cap)
        self._work += abs(done)
        self._steps += count
        self.done_steps += count
        return bool(self.done_steps >= self.moves) or done < 0


HARD_STEP, SOFT_CAP = 3.0, 100.0
"""What a false hard clause gains at a local minimum, where a soft one of mean weight gains 1 up to the cap."""

HARD_SHARE = 1.5
"""Weight of a hard clause in annealing, over the heaviest soft load of its variables."""


LIGHT_SHARE = 0.25
"""The last temperature is at most this share of a light clause's weight."""


def parts(compiled: Compiled) -> tuple[Clauses, Formula]:
    """The clauses of a problem, and their arrays for the loops; built once."""
    problem: Any = compiled.problem
    return problem.clauses, problem.formula


def build_formula(clauses: Clauses) -> Formula:
    """The clauses that have literals, for the loops."""
    some = clauses.lengths > 0
    ptr = np.concatenate([[0], np.cumsum(clauses.lengths[some])])
    return formula(ptr, clauses.literals, clauses.n, clauses.weight[some], clauses.hard[some])


def empty_cost(clauses: Clauses) -> float:
    """What clauses without literals cost at every point."""
    empty = clauses.lengths == 0
    firm = np.count_nonzero(clauses.hard & empty)
    return float(clauses.weight[empty].sum()) + float(firm) * clauses.top


def penalties(clauses: Clauses, f: Formula) -> NDArray[Any]:
    """Weights to anneal on: a hard clause outweighs what any of its variables could gain by breaking it."""
    hard = f.hard > 0
    if not hard.any():
        return f.cost
    m, n = f.hard.size, f.occ_ptr.size - 1
    clause = np.repeat(np.arange(m), np.diff(f.ptr))
    load = np.bincount(f.lit >> 1, weights=f.cost[clause], minlength=n)
    heaviest = np.maximum.reduceat(load[f.lit >> 1], f.ptr[:-1])
    return np.where(hard, HARD_SHARE * np.maximum(heaviest, f.cost.max() or 1.0), f.cost)


def typical_change(f: Formula, weight: NDArray[Any]) -> float:
    """Root mean square of what a flip changes at random points: clauses of k literals count with 2^(1-k)."""
    lengths = np.diff(f.ptr)
    n = f.occ_ptr.size - 1
    share = np.where(f.hard > 0, 0.0, weight**2) * np.exp2(1.0 - lengths) * lengths
    soft = float(share.sum()) / n
    return float(np.sqrt(soft if soft > 0 else np.mean(weight**2))) or 1.0


def lightest(f: Formula) -> float:
    """A light soft clause: nine of ten weigh as much or more."""
    soft = f.cost[f.hard == 0]
    return float(np.quantile(soft, 0.1)) if soft.size else 1.0
