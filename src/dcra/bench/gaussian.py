"""Random l1 instances by name: "l1-100x50-3" is instance 3 with 100 variables and 50 rows."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from dcra._array import Host
from dcra.model.problem import Problem
from dcra.model.term import Term

SIGN_VECTORS = 50
"""Random signs that are averaged over: a single one has a spread of ten per cent at d = 50."""


def size_of(name: str) -> tuple[int, int]:
    """(n, d) of a size such as "100x50" or of an instance's name."""
    n, d = re.findall(r"(\d+)x(\d+)", name)[0]
    return int(n), int(d)


@lru_cache(maxsize=1)
def arrays(name: str) -> tuple[Host, Host]:
    """A (d, n) and b (d,) with standard normal entries."""
    n, d = size_of(name)
    rng = np.random.default_rng((n, d, int(name.rpartition("-")[2])))
    return rng.standard_normal((d, n)), rng.standard_normal(d)


def instance(name: str) -> Problem:
    """The problem min |Ax - b|_1 over spins; new each time: no solve profits from another."""
    A, b = arrays(name)
    return Problem([Term("l1", A, b)])


@lru_cache(maxsize=8)
def random_value(name: str) -> float:
    """The mean objective of some random sign vectors on an instance."""
    problem = instance(name)
    rng = np.random.default_rng((problem.n, problem.n_rows, int(name.rpartition("-")[2]), 1))
    return float(np.mean(problem.objective(rng.choice([-1.0, 1.0], (SIGN_VECTORS, problem.n)))))
