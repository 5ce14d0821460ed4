"""Proofs inside "auto" against brute force: python -m tests.campaign.plans --seconds 60 --seed 7

Method "auto" tries all points of problems as small as those of `problems`, and its trees would see none of
them: here each case is solved with a tree before all points, with a tree beside descents, and with one that
comes once these agree, where starts are counted and under a limit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from unittest.mock import patch

import numpy as np

from dcra.auto import agreement, all_points, decision, proofs, settled
from tests.campaign.cases import draw_case
from tests.campaign.command import main, until
from tests.campaign.oracle import truth_of
from tests.campaign.problems import judged, reported

FEW_POINTS = ((decision.Traits, "enumerable", False), (decision.Traits, "countable", False))
ALWAYS = {True: (1e9, 1e9), False: (1e9, 1e9)}
AGREED_ALONE = {True: (1e9, 1e9), False: (0.0, 0.0)}

WAYS: Mapping[str, tuple[tuple[object, str, object], ...]] = {
    "before": ((all_points, "SOON", -1.0),),
    "beside": (*FEW_POINTS, (proofs, "PASSES", ALWAYS), (proofs, "BEFORE", 1)),
    "agreed": (*FEW_POINTS, (proofs, "PASSES", AGREED_ALONE), (agreement, "AGREED", 2)),
    "settled": (*FEW_POINTS, (agreement, "AGREED", 2), (settled, "SHORTEST", 0.0)),
}
"""By where the tree stands: what is set aside for it."""

SECONDS = 0.25
"""Of a case whose tree shares the time once descents agree: only under a limit is there one."""


@contextmanager
def trees_first(way: str) -> Iterator[None]:
    """Within, problems of any size are proved in this way."""
    with ExitStack() as stack:
        for where, name, value in WAYS[way]:
            stack.enter_context(patch.object(where, name, value))
        yield


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counter[str], list[str]]:
    """Cases of a seed until the time is over, or `most` of them; counts, and what was found."""
    np.set_printoptions(floatmode="unique", threshold=10_000)
    going_on = until(seconds)
    counts: Counter[str] = Counter()
    found: list[str] = []
    number = 0
    while going_on() and number < most:
        problem = replace(draw_case(np.random.default_rng((seed, number))), method="auto")
        truth = truth_of(problem)
        for way in WAYS:
            timed = {"starts": 10**6, "time_limit": SECONDS} if way == "settled" else {"starts": 8}
            case = replace(problem, **timed)
            with trees_first(way):
                what, wrong = judged(case, truth)
                counts[f"{way}: {what}"] += 1
                if wrong:
                    found.append(reported(case, f"seed {seed}, case {number}, {way}", wrong[0], show))
        number += 1
    return counts, found


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
