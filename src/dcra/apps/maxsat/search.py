"""Engines over clauses: annealing, and descent with growing weights where there are hard clauses."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcra._array import Host
from dcra._kernels.formula import Formula, walk
from dcra._kernels.seed import state as random_state
from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.scales import LIGHT_SHARE, empty_cost, lightest, penalties, typical_change
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, InTurn, Starts, State
from dcra.polish.base import initial_spins

NEEDS = frozenset({"clauses", "loops"})


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
    hard_share : float
        Weight of a hard clause, over the heaviest load of soft clauses that one of its variables carries.
    """

    passes: int = 2000
    hot: float = 0.25
    cold: float = 0.07
    hard_share: float = 1.5

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
    """Focused search for a point at which all hard clauses are true; soft ones do not count.

    Parameters
    ----------
    moves : int
        Proposals of one start.
    noise : float
        A flip that makes k more hard clauses false is taken with probability exp(-k / noise).
    """

    moves: int = 1_000_000
    noise: float = 1.0

    name: ClassVar[str] = "clause-walk"
    needs: ClassVar[frozenset[str]] = NEEDS

    def __post_init__(self) -> None:
        if self.moves < 1:
            raise ValueError(f"`moves` must be at least 1; got {self.moves}")
        if not self.noise > 0:
            raise ValueError(f"`noise` must be positive; got {self.noise!r}")

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return WalkClauses(self, compiled, starts)


class ClauseState(InTurn):
    """One start after another; `best` is [false hard clauses, cost] of `best_x`."""

    def __init__(self, compiled: Compiled, starts: Starts, weight: NDArray[Any]) -> None:
        from dcra._kernels.clauses import place

        self.compiled, self.starts = compiled, starts
        self.clauses, self.formula = parts(compiled)
        self.weight = weight
        self.out = initial_spins(compiled, starts)
        self.best_value = inf
        self.place = place
        super().__init__(starts.count)

    def begin(self) -> None:
        self.rng = random_state(self.starts.seed, self.starts.first + self.current)
        x = (self.out[self.current] > 0).astype(np.uint8)
        if self.starts.points is None and self.clauses.hard.any():
            self._follow_units(x)
        self.walk = walk(self.formula, x, self.weight)
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

    def keep(self, finished: bool) -> None:
        self.out[self.current] = np.where(self.best_x > 0, 1.0, -1.0)
        if finished:
            value = float(self.best[0]) * self.clauses.top + float(self.best[1])
            self.best_value = min(self.best_value, value)

    @property
    def broken(self) -> bool:
        """Whether hard clauses are false in the answer of the last start."""
        return bool(self.best[0] > 0)

    @property
    def pace(self) -> float:
        """Entries that a step has touched so far, in the mean."""
        return max(1.0, self._work / self._steps) if self._steps else 2.0 * self.compiled.work_per_pass

    def estimate(self) -> float | None:
        return self.best_value + empty_cost(self.clauses) if self.done else None

    def candidates(self) -> Host:
        return self.out


class AnnealClauses(ClauseState):
    def __init__(self, engine: ClauseAnneal, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        _, built = parts(compiled)
        weight = penalties(built, engine.hard_share)
        cold = min(engine.cold * typical_change(built, built.cost), LIGHT_SHARE * lightest(built))
        hot = engine.hot * typical_change(built, weight)
        self.temperatures = np.geomspace(max(hot, cold), cold, engine.passes)
        super().__init__(compiled, starts, weight)

    @property
    def facts(self) -> dict[str, Any]:
        return {"broken": self.broken, "hard_share": self.engine.hard_share}

    def search(self, work: int) -> bool:
        from dcra._kernels.clauses import anneal_clauses

        count = int(min(self.temperatures.size - self.done_steps, max(1.0, work / self.pace)))
        ladder = self.temperatures[self.done_steps : self.done_steps + count]
        self._work += anneal_clauses(self.formula, self.walk, self.best_x, self.best, self.rng, ladder)
        self._steps += count
        self.done_steps += count
        return bool(self.done_steps >= self.temperatures.size) or not self.best.any()


class WalkClauses(ClauseState):
    def __init__(self, engine: ClauseWalk, compiled: Compiled, starts: Starts) -> None:
        self.engine = engine
        super().__init__(compiled, starts, parts(compiled)[1].hard.astype(np.float64))

    def search(self, work: int) -> bool:
        from dcra._kernels.clauses import walk_clauses

        count = int(min(self.engine.moves - self.done_steps, max(1.0, work / self.pace)))
        point = (self.formula, self.walk, self.best_x, self.best, self.rng)
        self._work += walk_clauses(*point, count, self.engine.noise)
        self._steps += count
        self.done_steps += count
        return bool(self.done_steps >= self.engine.moves or self.best[0] == 0)


def parts(compiled: Compiled) -> tuple[Clauses, Formula]:
    """The clauses of a problem, and their arrays for the loops; built once."""
    problem: Any = compiled.problem
    return problem.clauses, problem.formula
