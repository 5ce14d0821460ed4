"""Proofs over bounded integers: python -m tests.campaign.whole_numbers --seconds 60 --seed 7

Problems of a few variables are solved by method "exact" and compared with all points.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from itertools import product
from math import inf

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.losses import NAMES
from dcra.model.rounding import errors_at
from tests.campaign.cases import Rng
from tests.campaign.command import main, until
from tests.campaign.proofs import larger_trees

MOST_VARIABLES, WIDEST = 3, 7
"""Variables of a problem, and what their ranges are apart at most."""


def draw(rng: Rng) -> dcra.IntegerProblem:
    """Losses, couplings or both, mostly with a linear part and a row that some point satisfies."""
    n = int(rng.integers(1, MOST_VARIABLES + 1))
    low = rng.integers(-3, 1, n)
    high = low + rng.integers(1, WIDEST + 1, n)
    whole, scale = rng.random() < 0.4, float(10.0 ** rng.integers(-6, 9)) if rng.random() < 0.4 else 1.0

    def numbers(*shape: int) -> np.ndarray:
        return rng.integers(-3, 4, shape).astype(float) if whole else rng.standard_normal(shape)

    dtype = rng.choice(["float64", "float32"], p=[0.7, 0.3])

    def matrix(*shape: int) -> np.ndarray:
        return (scale * numbers(*shape)).astype(dtype)

    terms = []
    for _ in range(rng.integers(0, 3)):
        loss, r, weight = (
            str(rng.choice(list(NAMES))),
            int(rng.integers(1, 6)),
            float(rng.choice([1, 0.3, 2])),
        )
        terms.append(dcra.Term(loss, matrix(r, n), 2 * scale * numbers(r), weight))
    Q = matrix(n, n) * rng.choice([0.5, 1, 8]).astype(dtype) if rng.random() < 0.6 or not terms else None
    known = rng.integers(low, high + 1).astype(float)
    G = numbers(1, n)
    row = LinearConstraint(G, G @ known - 1, G @ known + float(rng.integers(2)))
    return dcra.IntegerProblem(
        terms,
        quadratic=sparse.csr_array(Q) if Q is not None and rng.random() < 0.3 else Q,
        linear=scale * numbers(n) if rng.random() < 0.5 else None,
        domain=dcra.integers(low, high),
        constraints=[row] if rng.random() < 0.4 else [],
    )


def judged(problem: dcra.IntegerProblem, counts: Counter[str]) -> list[str]:
    """What is wrong with the proof of a problem."""
    with warnings.catch_warnings(), larger_trees():
        warnings.simplefilter("ignore")
        result = dcra.solve(problem, method="exact", seed=0, n_jobs=1)
    counts[f"solved, {result.status}"] += 1
    ranges = [np.arange(a, b + 1) for a, b in zip(problem.low, problem.high, strict=True)]
    X = np.array(list(product(*ranges)), float)
    X = X[problem.violation(X) == 0]
    values = problem.model.relaxed_objective(X)  # without their bits
    least = float(values.min())
    room = result.tiny + 2 * float(np.max(errors_at(problem.bits, problem.encode("x", X))))
    wrong, own = [], float(problem.model.relaxed_objective(result.x))
    if np.isfinite(result.fun) and abs(result.fun - own) > room:
        wrong.append(f"value: {result.fun!r} where it is {own!r}")
    if result.lower_bound > least + room:
        wrong.append(f"bound: {result.lower_bound!r} above the optimum {least!r}")
    if result.status == "optimal" and result.fun > least + room:
        wrong.append(f"status: optimal at {result.fun!r}, and not at {least!r}")
    return wrong


def run(seconds: float, seed: int, most: float = inf) -> tuple[Counter[str], list[str]]:
    """Problems of a seed until the time is over, or `most` of them; counts, and what was found."""
    going_on, counts = until(seconds), Counter[str]()
    found: list[str] = []
    number = 0
    while going_on() and number < most:
        wrong = judged(draw(np.random.default_rng((seed, number))), counts)
        found += [f"seed {seed}, case {number}: {words}" for words in wrong]
        number += 1
    print(*found, sep="\n", end="\n" if found else "")
    return counts, found


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
