"""Solutions of equations between integers as points of a lattice in a box: reduction, then a pruned search.

The whole x with A x = b are a lattice, moved by one of them. Those in {0,1}^n are just those at distance
sqrt(n)/2 from the point (1/2, ..., 1/2), the least there is (Coster, Joux, LaMacchia, Odlyzko, Schnorr and
Stern; Aardal, Hurkens and Lenstra): a search of a reduced basis for what is so near meets all of them, and
one that leaves out most of its tree a share. Each start has a random basis of its own, reduced in blocks that
grow until the next tour would be dear beside the search.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf, log
from typing import ClassVar

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.exact.integer_equations import Equations, equations_of
from dcra.exact.lattices import NODE, Lattice, Solutions, solutions_of
from dcra.exact.pruning import Pruning, climb, prune

FIRST_BLOCK, MORE_BLOCK = 16, 4
"""Vectors of the first blocks, and by how many they grow after each tour."""

WORTH_A_TOUR = 0.3
"""Of the nodes of the search, what the last tour may have taken for another one to be worth it."""

NODES_PER_TOUR = 1e6
"""What a tour costs beside its searches, in nodes."""

WORTH_CLIMBING = 1e7
"""Nodes from which better bounds are worth the time to look for them."""

SLACK = 1e-6
"""Of distances, for rounding: the next nearest points are 2 farther, in squares."""

MOST_VARIABLES = 200
"""Up to here a reduction takes no more than seconds."""

SLOPE = 2 * log(1.0115)
"""By how much log r falls from one vector of a reduced basis to the next, halved, before it is known."""

MOST_SOLUTIONS = 1000
"""Kept of one start."""


@dataclass(frozen=True)
class BoxPoints(Engine):
    """A random basis of the lattice for each start, reduced and searched."""

    name: ClassVar[str] = "lattice"
    needs: ClassVar[frozenset[str]] = frozenset({"whole equations", "loops"})
    takes_constraints: ClassVar[bool] = True

    def setup_work(self, compiled: Compiled) -> int:
        return 20 * compiled.n**3  # of the first start: the others find the lattice there

    def start(self, compiled: Compiled, starts: Starts) -> State:
        equations = equations_of(compiled.problem)
        assert equations is not None
        return BoxState(equations, compiled.once(lattice_of), starts)


def lattice_of(compiled: Compiled) -> Solutions | None:
    """All whole solutions of the equations of a problem."""
    equations = equations_of(compiled.problem)
    return None if equations is None else solutions_of(equations.B, equations.d)


def solvable(compiled: Compiled) -> bool:
    """Whether a problem is a few equations between integers, of a size that can be reduced."""
    return compiled.n <= MOST_VARIABLES and equations_of(compiled.problem) is not None


def trusted(equations: Equations) -> float:
    """How many solutions a search may count on to meet one: fewer than there are, for they lie alike."""
    return 1.0 if equations.required else 2.0 ** (min(equations.expected, 40.0) / 2)


def seconds_for(equations: Equations) -> float:
    """About how long one thread takes to meet a solution, if there is one: by the lattice's volume alone."""
    B, n = equations.B.astype(np.float64), equations.n
    scales = np.linalg.svd(B, compute_uv=False)
    scales = scales[scales > 1e-9 * scales.max(initial=0.0)]
    off = np.linalg.lstsq(B, B.sum(axis=1) / 2 - equations.d, rcond=1e-9)[0]
    d, radius = n - len(scales), n / 4 - float(off @ off)
    if d < 2 or radius <= 0:
        return 0.0 if radius > 0 else inf
    r = np.exp(2 / d * np.sum(np.log(scales)) + SLOPE * (d - 1 - 2 * np.arange(d)))
    points = trusted(equations)
    return 2 * costs.NODE_SECONDS * prune(r, radius, points, WORTH_CLIMBING).cost(points, WORTH_CLIMBING)


class BoxState(State):
    """One start; ends at the first solution where one is enough."""

    def __init__(self, equations: Equations, solutions: Solutions | None, starts: Starts) -> None:
        self.equations, self.solutions = equations, solutions
        self.rng = np.random.default_rng((starts.seed, starts.first, 7))
        self.found: list[Host] = []
        self.cut: Pruning | None = None
        self._done, self._work = False, 0.0
        self._steps_left = self._search()

    def advance(self, work: int) -> None:
        until = self._work + work
        while not self._done and self._work < until:
            step = next(self._steps_left, None)
            self._done = step is None or self._enough
            self._work += step or 0

    @property
    def _enough(self) -> bool:
        return len(self.found) >= (MOST_SOLUTIONS if self.equations.required else 1)

    def _search(self) -> Iterator[int]:
        if self.solutions is None:
            return
        K, p = self.solutions
        if len(K) == 0:
            self._take(p)
            return
        lattice = Lattice(K.copy())
        lattice.shuffle(self.rng)
        yield from lattice.reduce()
        u = 0.5 - p
        t, outside = lattice.projection(u)
        radius = self.equations.n / 4 - outside
        if radius < -SLACK:
            return
        cut = yield from self._reduce(lattice, max(radius, SLACK))
        t, _ = lattice.projection(u)
        bounds = np.ascontiguousarray(radius * cut.f[::-1]) + SLACK * self.equations.n
        for x, nodes in lattice.search(t, bounds):
            if x is not None:
                self._take(p + x @ lattice.basis.B)
            yield NODE * nodes

    def _reduce(self, lattice: Lattice, radius: float) -> Generator[int, None, Pruning]:
        """Blocks that grow, while the next tour is cheap beside the search."""
        block, tour = FIRST_BLOCK, NODES_PER_TOUR
        spent, points = tour, trusted(self.equations)
        cut = prune(lattice.basis.r, radius, points, spent)
        while block <= lattice.d and tour < WORTH_A_TOUR * cut.nodes:
            tour = NODES_PER_TOUR
            for work in lattice.tour(block):
                tour += work / NODE
                yield work
            spent += tour
            block += MORE_BLOCK
            cut = prune(lattice.basis.r, radius, points, spent)
        if cut.nodes > WORTH_CLIMBING:
            cut = climb(cut, lattice.basis.r, radius, points, spent)
        self.cut = cut
        return cut

    def _take(self, x: Host) -> None:
        if np.all((x == 0) | (x == 1)) and np.array_equal(self.equations.B @ x, self.equations.d):
            self.found.append(2.0 * x - 1)

    @property
    def done(self) -> bool:
        return self._done

    @property
    def work(self) -> float:
        return self._work

    def candidates(self) -> Host:
        return np.array(self.found) if self.found else np.ones((1, self.equations.n))
