"""Balanced bisection: the lightest cut between two halves of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra.bench.bisection_rivals import kernighan_lin, metis
from dcra.bench.counted import CountedBenchmark
from dcra.bench.quadratic_exact import cpsat
from dcra.bench.quadratic_rivals import Rival, ours
from dcra.model.constraints import exactly
from dcra.model.problem import Problem

Random = np.random.Generator

NODES = (60, 120, 250, 500)
LARGE = ("geometric6-5000", "geometric6-20000", "geometric6-100000")
DENSE = 0.2
"""Graphs with fewer edges than this share of the pairs are stored as sparse ones."""


def random_graph(n: int, degree: float, rng: Random) -> Host:
    return symmetric(rng.random((n, n)) < degree / (n - 1))


def geometric_graph(n: int, degree: float, rng: Random) -> Any:
    """Points of the unit square, joined up to a distance that gives inner ones this many neighbours."""
    from scipy import sparse, spatial

    points, apart = spatial.KDTree(rng.random((n, 2))), np.sqrt(degree / (np.pi * n))
    near = points.query_pairs(apart, output_type="ndarray")
    upper = sparse.coo_array((np.ones(len(near)), near.T), shape=(n, n))
    return upper + upper.T


def signed_graph(n: int, share: float, rng: Random) -> Host:
    return symmetric((rng.random((n, n)) < share) * rng.choice([-1, 1], (n, n)))


def symmetric(W: Host) -> Host:
    upper: Host = np.triu(W, 1).astype(float)
    return upper + upper.T


GRAPHS: dict[str, Callable[[int, Random], Any]] = {
    "random4": lambda n, rng: random_graph(n, 4, rng),
    "random10": lambda n, rng: random_graph(n, 10, rng),
    "random-half": lambda n, rng: random_graph(n, (n - 1) / 2, rng),
    "geometric6": lambda n, rng: geometric_graph(n, 6, rng),
    "geometric15": lambda n, rng: geometric_graph(n, 15, rng),
    "signed-tenth": lambda n, rng: signed_graph(n, 0.1, rng),
    "signed": lambda n, rng: signed_graph(n, 1.0, rng),
}
"""Kinds: of so many neighbours a node, or so large a share of all edges."""


class Bisection(CountedBenchmark):
    """Graphs of seven kinds and four sizes, and large meshes."""

    name: ClassVar[str] = "bisection"
    summary: ClassVar[str] = "Balanced bisection of random, geometric and signed graphs"
    goal: ClassVar[str] = (
        "The lightest cut between two halves of a graph: min (e'We - s'Ws)/4 over spins s, half of them up. "
        "Kernighan-Lin and METIS are run again with new seeds as long as there is time."
    )
    sizes: ClassVar[Sequence[str]] = (*(f"{kind}-{n}" for kind in GRAPHS for n in NODES), *LARGE)
    asked: ClassVar[Sequence[str]] = LARGE
    few: ClassVar[Sequence[str]] = tuple(f"{kind}-{n}" for kind in GRAPHS for n in NODES[1:3])
    seconds: ClassVar[float] = 1.0
    count: ClassVar[int] = 3
    rivals: ClassVar[dict[str, Rival]] = {
        **{name: ours(name) for name in ("auto", "anneal", "tabu")},
        "kernighan-lin": kernighan_lin,
        "metis": metis,
        "cpsat": partial(cpsat, alike=True),
    }
    methods: ClassVar[Sequence[str]] = tuple(rivals)

    def problem(self, size: str, index: int) -> Problem:
        kind, _, nodes = size.rpartition("-")
        n, rng = int(nodes), np.random.default_rng((list(GRAPHS).index(kind), int(nodes), index))
        return cut_problem(GRAPHS[kind](n, rng))


def cut_problem(graph: Any) -> Problem:
    """The weight between the two halves of the nodes, (e'We - s'Ws)/4."""
    from scipy import sparse

    W, n = sparse.csc_array(graph), graph.shape[0]
    Q = -W / 4 if W.nnz < DENSE * n**2 else -W.toarray() / 4
    return Problem(quadratic=Q, constant=W.sum() / 4, constraints=exactly(n // 2))
