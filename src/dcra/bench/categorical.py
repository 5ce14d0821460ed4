"""Choices of groups: colouring, scheduling and assignments, quadratic and linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from dcra._array import Host
from dcra.bench.base import Skip
from dcra.bench.counted import CountedBenchmark
from dcra.bench.quadratic_exact import cpsat, gurobi
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer, Rival, ours
from dcra.model.logic import one_of
from dcra.model.problem import Problem

COLOURS = 5
DENSE = 0.1
"""Fewer pairs than this share of all are stored as a sparse matrix."""

Random = np.random.Generator


def colouring(rng: Random, n: int = 100, degree: float = 16.0, weighted: bool = True) -> Problem:
    """Edges of one colour cost 1; where weighted, up to 9, and vertices prefer colours a little."""
    edges = np.argwhere(np.triu(rng.random((n, n)) < degree / (n - 1), 1))
    costs = rng.integers(1, 10, len(edges)) if weighted else np.ones(len(edges))
    at = np.arange(n * COLOURS).reshape(n, COLOURS)
    linear = rng.integers(0, 4, n * COLOURS) if weighted else np.zeros(n * COLOURS)
    first, second = (at[edges[:, k]].ravel() for k in range(2))
    return choices((first, second, np.repeat(costs, COLOURS)), linear, at)


def schedule(rng: Random, jobs: int = 40, machines: int = 6) -> Problem:
    """Jobs on machines: costs of the places, and costs of any sign for sharing a machine."""
    at = np.arange(jobs * machines).reshape(jobs, machines)
    share = np.triu(rng.integers(-9, 20, (jobs, jobs)), 1)
    i, j = np.nonzero(share)
    linear = rng.integers(0, 30, jobs * machines)
    return choices((at[i].ravel(), at[j].ravel(), np.repeat(share[i, j], machines)), linear, at)


def assignment(rng: Random, density: float, n: int = 25) -> Problem:
    """Flows times distances of random places beside costs of the places themselves."""
    at = np.arange(n * n).reshape(n, n)
    linear = rng.integers(0, 100, n * n)
    flow = np.triu(rng.integers(1, 10, (n, n)) * (rng.random((n, n)) < density), 1)
    spots = rng.integers(0, 10, (n, 2))
    far = np.abs(spots[:, None] - spots).sum(axis=-1)
    (i, j), (k, m) = np.nonzero(flow), np.nonzero(far)
    first, second = at[i][:, k].ravel(), at[j][:, m].ravel()
    pairs = first, second, np.outer(flow[i, j], far[k, m]).ravel()
    return choices(pairs, linear, np.concatenate([at, at.T]))


def choices(pairs: tuple[Host, Host, Host], linear: Host, groups: Host) -> Problem:
    """The sum over pairs (i, j, cost), i < j, and of linear costs, one of each group up."""
    from scipy import sparse

    i, j, cost = pairs
    n = linear.size
    half = sparse.coo_array((cost / 2, (i, j)), shape=(n, n)).tocsc()
    whole = half + half.T
    Q = whole.toarray() if whole.nnz > DENSE * n * n else whole if whole.nnz else None
    rules = one_of(list(groups))
    return Problem(quadratic=Q, linear=linear.astype(float), domain="binary", constraints=rules)


KINDS: dict[str, Callable[[Random], Problem]] = {
    "colouring": lambda rng: colouring(rng, weighted=False),
    "colouring-weighted": colouring,
    "colouring-small": lambda rng: colouring(rng, 40, 10.0),
    "schedule": schedule,
    "assignment": lambda rng: assignment(rng, 1.0),
    "assignment-sparse": lambda rng: assignment(rng, 0.2),
    "assignment-linear": lambda rng: assignment(rng, 0.0),
}


def linear_sum(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """SciPy's `linear_sum_assignment`."""
    from scipy.optimize import linear_sum_assignment

    if problem.quadratic is not None:
        raise Skip("it is for linear assignments")
    n = round(problem.n**0.5)
    costs = np.asarray(problem.linear).reshape(n, n)

    def answer() -> QuadraticAnswer:
        x = np.zeros((n, n))
        x[linear_sum_assignment(costs)] = 1
        return QuadraticAnswer(x.ravel())

    return answer


class Categorical(CountedBenchmark):
    """Seven kinds of problems with one of each group up."""

    name: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "Choices of groups: colouring, scheduling, assignments"
    goal: ClassVar[str] = (
        "min x'Qx + c'x over {0,1}, one of each group up: five colours of 100 vertices (40 where small) with "
        "16 neighbours (10) each; 40 jobs on 6 machines; 25 x 25 assignments with flows of all pairs, of a "
        "fifth of them, of none."
    )
    sizes: ClassVar[Sequence[str]] = tuple(KINDS)
    few: ClassVar[Sequence[str]] = sizes
    seconds: ClassVar[float] = 2.0
    count: ClassVar[int] = 5
    rivals: ClassVar[dict[str, Rival]] = {
        "auto": ours("auto"),
        "cpsat": cpsat,
        "gurobi": gurobi,
        "linear_sum_assignment": linear_sum,
    }
    methods: ClassVar[Sequence[str]] = tuple(rivals)

    def problem(self, size: str, index: int) -> Problem:
        return KINDS[size](np.random.default_rng((list(KINDS).index(size), index)))
