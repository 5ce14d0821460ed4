"""Variables that are fixed, and pools, against brute force: python -m tests.campaign.partly --seconds 60

The cases of `problems`, with some variables fixed, with several answers asked for, or both; method "exact"
and those that take all points more often than there.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np

from tests.campaign.cases import Case, Rng, draw_case, draw_methods
from tests.campaign.command import main, until
from tests.campaign.oracle import truth_of
from tests.campaign.problems import judged, reported

PROVING = ("auto", "exact", "enumerate")
FIXED, POOLED = 0.7, 0.5
"""How often variables are fixed, and pools are asked for."""

MOST_ASKED = 6


def draw(rng: Rng) -> Case:
    """A case of `problems` of which something is known, or several answers are wanted."""
    case = draw_case(rng)
    method = str(rng.choice(PROVING)) if rng.random() < 0.6 else draw_methods(rng, 1)[0]
    fixed: tuple[tuple[int, float], ...] = ()
    if rng.random() < FIXED:
        share = rng.choice([0.2, 0.5, 1.0], p=[0.5, 0.4, 0.1])
        members = np.flatnonzero(rng.random(case.n) < share)
        fixed = tuple((int(j), float(rng.choice(case.values))) for j in members)
    pool = int(rng.integers(1, MOST_ASKED)) if not fixed or rng.random() < POOLED else 0
    return replace(case, method=method, fixed=fixed, pool=pool)


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counter[str], list[str]]:
    """Cases of a seed until the time is over, or `most` of them; counts, and what was found."""
    np.set_printoptions(floatmode="unique", threshold=10_000)
    going_on = until(seconds)
    counts: Counter[str] = Counter()
    found: list[str] = []
    number = 0
    while going_on() and number < most:
        case = draw(np.random.default_rng((seed, number)))
        what, wrong = judged(case, truth_of(case))
        counts[what] += 1
        counts["with variables fixed"] += bool(case.fixed)
        counts["with pools"] += bool(case.pool)
        if wrong:
            found.append(reported(case, f"seed {seed}, case {number}", wrong[0], show))
        number += 1
    return counts, found


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
