"""Random problems on a device against brute force: python -m tests.campaign.devices --seconds 60 --seed 7

Problems as small as those of `problems` are enumerated by the host, and no kernel would see them: here
enumeration and the least size for a device are set aside, and only what kernels can take is drawn, losses of
the table or couplings alone. One case in four is a batch of right-hand sides.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from unittest.mock import Mock, patch

import numpy as np

import dcra
from dcra.accelerator.device import why_not
from dcra.auto import decision, placement, replicas, spins
from dcra.losses import NAMES, TableLoss
from tests.campaign.cases import Case, Rng, draw_case
from tests.campaign.command import main, until
from tests.campaign.fields import columns_judged, numbers
from tests.campaign.problems import judged, reported

TABLES = [name for name, loss in NAMES.items() if issubclass(loss, TableLoss)]

STARTS = 32
"""Of one case: the replicas of a few blocks of threads."""


SEARCHES = (("losses", replicas, "search_replicas"), ("couplings", spins, "search_spins"))


@contextmanager
def kernels_first() -> Iterator[dict[str, Mock]]:
    """Whatever kernels can take goes to the device; for each kind of search a mock that counts its calls."""
    with ExitStack() as stack:
        for name in ("REPLICA_ENTRIES", "HOST_ENTRIES"):
            stack.enter_context(patch.object(placement, name, 0))
        for row in ("enumerable", "least_squares", "special_plan"):
            stack.enter_context(patch.object(decision.Traits, row, None))
        yield {
            kind: stack.enter_context(patch.object(module, name, wraps=getattr(module, name)))
            for kind, module, name in SEARCHES
        }


def draw_for_a_device(rng: Rng) -> Case:
    """A case that kernels can take: without rows, and either losses of the table or couplings."""
    case = replace(draw_case(rng), method="auto", rows=(), device="cuda", starts=STARTS, sparse=False)
    parts = tuple(part for part in case.parts if part.loss in TABLES)
    if not parts and case.quadratic is None:
        return draw_for_a_device(rng)
    return replace(case, parts=parts, quadratic=None if parts else case.quadratic)


def batch(rng: Rng) -> list[str]:
    """What is wrong with a batch on the device."""
    n, r, k = (int(rng.integers(1, most)) for most in (9, 7, 6))
    A, B = numbers(rng, r, n), numbers(rng, r, k)
    loss, domain = str(rng.choice(TABLES)), str(rng.choice(["spin", "binary"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = dcra.minimize_batch(A, B, loss, domain=domain, starts=2, seed=1, device="cuda")
    return columns_judged(found, A, B, loss, domain)


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counter[str], list[str]]:
    """Cases of a seed until the time is over, or `most` of them; counts, and what was found."""
    if missing := why_not():
        return Counter({f"cases: {missing}": 0}), []
    np.set_printoptions(floatmode="unique", threshold=10_000)
    going_on = until(seconds)
    counts: Counter[str] = Counter()
    found: list[str] = []
    number = 0
    with kernels_first() as searches:
        while going_on() and number < most:
            rng = np.random.default_rng((seed, number))
            if number % 4 == 3:
                wrong = batch(rng)
                counts["batches"] += 1
                found += [f"seed {seed}, case {number}, batch: {words}" for words in wrong]
            else:
                case = draw_for_a_device(rng)
                what, wrong = judged(case)
                counts[what] += 1
                if wrong:
                    found.append(reported(case, f"seed {seed}, case {number}", wrong[0], show))
            number += 1
    counts.update({f"searched by kernels, {name}": search.call_count for name, search in searches.items()})
    return counts, found


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
