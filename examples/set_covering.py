"""Set covering and assignment: linear objectives under constraints, judged against the true optimum.

python examples/set_covering.py
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, linear_sum_assignment

import dcra


def covering(n_elements: int, n_sets: int, seed: int) -> dcra.Problem:
    """The cheapest sets that contain every element; each set holds a few elements at random."""
    rng = np.random.default_rng(seed)
    holds = rng.random((n_elements, n_sets)) < 0.05
    holds[np.arange(n_elements), rng.integers(0, n_sets, n_elements)] = True
    rows = LinearConstraint(sparse.csr_array(holds.astype(float)), 1, np.inf)
    prices = rng.integers(1, 100, n_sets).astype(float)
    return dcra.Problem(linear=prices, domain="binary", constraints=rows)


def assignment(cost: np.ndarray) -> dcra.Problem:
    """Every worker has exactly one job, every job exactly one worker; x[i * n + j] says that i does j."""
    n = len(cost)
    workers = [dcra.exactly(1, range(n * i, n * i + n)) for i in range(n)]
    jobs = [dcra.exactly(1, range(j, n * n, n)) for j in range(n)]
    return dcra.Problem(linear=cost.ravel(), domain="binary", constraints=[*workers, *jobs])


def main() -> None:
    cover = dcra.solve(covering(100, 300, seed=0), time_limit=5, seed=0)
    print("Set covering", cover, sep="\n")
    assert cover.feasible

    cost = np.random.default_rng(0).integers(1, 100, (15, 15)).astype(float)
    assigned = dcra.solve(assignment(cost), time_limit=5, seed=0)
    best = cost[linear_sum_assignment(cost)].sum()
    print("\nAssignment", assigned, f"     optimum  {best:g}", sep="\n")
    assert assigned.feasible
    assert assigned.fun <= 1.05 * best


if __name__ == "__main__":
    main()
