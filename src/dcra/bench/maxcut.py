"""Max-Cut: random, signed and toroidal graphs made from their names, and the G-set where it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.apps.quadratic import cut_problem
from dcra.bench.base import Skip
from dcra.bench.quadratic import RIVALS, QuadraticBenchmark, data_file, data_names, listed_energies
from dcra.model.problem import Problem

ANY = 10**9
FILES: dict[str, list[tuple[str, str, int, int]]] = {
    "biqmac": [("biqmac/rudy", "*", 1, ANY), ("biqmac/ising", "*", 1, ANY)],
    "gset": [("gset", "G*.txt", 1, 3000)],
    "gset-large": [("gset", "G*.txt", 3001, ANY)],
}
"""Folders below DCRA_DATA, patterns, and the least and most nodes."""


class MaxCut(QuadraticBenchmark):
    name: ClassVar[str] = "maxcut"
    summary: ClassVar[str] = "Max-Cut on random, signed and toroidal graphs, and on the G-set"
    goal: ClassVar[str] = "Cut the nodes of a graph in two so that the edges between the sides weigh most."
    large: ClassVar[int] = 3000
    sizes: ClassVar[Sequence[str]] = ("800", "2000", "k2000", "5000", *FILES)
    methods: ClassVar[Sequence[str]] = tuple(RIVALS)
    budgets: ClassVar[dict[str, Sequence[float]]] = {"small": (0.3, 1.0), "full": (0.3, 1.0, 3.0, 10.0, 60.0)}

    def instances(self, size: str) -> list[str]:
        if size in FILES:
            return [name for place in FILES[size] for name in data_names(*place)]
        kinds, size = (("complete",), size[1:]) if size.startswith("k") else (SPARSE, size)
        return [f"{kind}-{size}-{k}" for k in range(2) for kind in kinds]

    def problem(self, instance: str) -> Problem:
        if "/" in instance:
            from dcra.io import read

            return read(data_file(*instance.split("/")), "rudy")
        kind, n, seed = instance.split("-")
        return cut_problem(int(n), *GRAPHS[kind](int(n), np.random.default_rng(int(seed))))

    def listed(self, instance: str) -> list[float]:
        if "/" not in instance:
            return []
        folder, _, name = instance.rpartition("/")
        return [-cut for cut in listed_energies(folder, name)] or _listed_cuts(name.removesuffix(".txt"))


Edges = tuple[Host, Host, Host]


def random_graph(n: int, rng: np.random.Generator) -> Edges:
    """About ten edges per node, of weight 1."""
    pairs = np.unique(np.sort(rng.integers(0, n, (10 * n, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs[:, 0], pairs[:, 1], np.ones(len(pairs))


def signed_graph(n: int, rng: np.random.Generator) -> Edges:
    """The same with weights 1 and -1."""
    row, col, weight = random_graph(n, rng)
    return row, col, rng.choice([-1.0, 1.0], weight.size)


def torus(n: int, rng: np.random.Generator) -> Edges:
    """A grid closed in both directions, with weights 1 and -1."""
    side = next(k for k in range(int(np.sqrt(n)), 0, -1) if n % k == 0)
    node = np.arange(n).reshape(side, -1)
    row = np.concatenate([node.ravel(), node.ravel()])
    col = np.concatenate([np.roll(node, 1, axis).ravel() for axis in (0, 1)])
    return row, col, rng.choice([-1.0, 1.0], row.size)


def complete_graph(n: int, rng: np.random.Generator) -> Edges:
    """All pairs, with weights 1 and -1: what K2000 is of 2,000 nodes (Inagaki and others 2016)."""
    row, col = np.triu_indices(n, 1)
    return row, col, rng.choice([-1.0, 1.0], row.size)


SPARSE = ("random", "signed", "torus")
GRAPHS = {"random": random_graph, "signed": signed_graph, "torus": torus, "complete": complete_graph}


def _listed_cuts(name: str) -> list[float]:
    """What two lists say of a graph of the G-set."""
    try:
        known = json.loads(data_file("gset", "best_known.json").read_text())
    except Skip:
        return []
    cuts = [cut for source, cut in known.get(name, {}).items() if source not in ("n", "m")]
    return sorted({-float(cut) for cut in cuts})
