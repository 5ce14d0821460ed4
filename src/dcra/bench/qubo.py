"""QUBO: random instances made from their names, and the Biq Mac library where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy import sparse

from dcra.bench.quadratic import RIVALS, QuadraticBenchmark, data_file, data_names, listed_energies
from dcra.model.problem import Problem

FILES = {"biqmac": (0, 250), "biqmac-large": (251, 10**9)}
"""Least and most variables."""


class Qubo(QuadraticBenchmark):
    name: ClassVar[str] = "qubo"
    summary: ClassVar[str] = "QUBO with 100 to 2500 variables, and the Biq Mac library"
    goal: ClassVar[str] = "Minimise x'Qx over {0,1}, Q of random whole numbers between -100 and 100."
    large: ClassVar[int] = 250
    sizes: ClassVar[Sequence[str]] = ("100", "250", "1000", "2500", *FILES)
    methods: ClassVar[Sequence[str]] = tuple(RIVALS)
    budgets: ClassVar[dict[str, Sequence[float]]] = {"small": (0.3, 1.0), "full": (0.3, 1.0, 3.0, 10.0)}

    def instances(self, size: str) -> list[str]:
        if size in FILES:
            return data_names("biqmac", "*/*.sparse", *FILES[size])
        return [f"random-{size}-{percent}-{k}" for k in range(3) for percent in (10, 100)]

    def problem(self, instance: str) -> Problem:
        if "/" in instance:
            from dcra.io import read

            return read(data_file(*instance.split("/")), "sparse")
        _, n, percent, seed = instance.split("-")
        return random_qubo(int(n), int(percent) / 100, int(seed))

    def listed(self, instance: str) -> list[float]:
        if "/" not in instance:
            return []
        folder, _, name = instance.rpartition("/")
        return listed_energies(folder, name.removesuffix(".sparse"))


def random_qubo(n: int, density: float, seed: int) -> Problem:
    """Entries between -100 and 100 in a share `density` of the places."""
    rng = np.random.default_rng(seed)
    Q = np.triu(rng.integers(-100, 101, (n, n)) * (rng.random((n, n)) < density)).astype(float)
    return Problem(quadratic=sparse.csc_array(Q + np.triu(Q, 1).T), domain="binary")
