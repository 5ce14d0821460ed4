"""Random problems against brute force: python -m tests.campaign.problems --seconds 60 --seed 7

Every case is solved and judged in long double. A finding is made smaller and printed as a case that can be
pasted; the exit code says whether there was any.
"""

from __future__ import annotations

import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf

import numpy as np

from dcra.messages import SolverUnavailable
from tests.campaign.cases import Case, draw_case, draw_methods, smaller
from tests.campaign.command import main, until
from tests.campaign.oracle import Truth, findings, truth_of

PATIENCE = 60
"""Seconds after which a solve counts as one that does not end."""

SHRINKING = 20.0
"""Seconds spent on making a finding smaller."""

METHODS_PER_PROBLEM = 3
"""How many methods solve the same problem, whose truth is computed once."""

REFUSED = re.compile(r"needs|must|cannot be satisfied|contradict|overflow|too large|at least")


class Endless(BaseException):
    """A solve took longer than PATIENCE."""


def judged(case: Case, truth: Truth | None = None) -> tuple[str, list[str]]:
    """What became of a case, 'solved' or 'refused', and what is wrong with that."""
    truth = truth or truth_of(case)
    if not np.all(np.isfinite(truth.values.astype(float))):
        return "overflow", []
    try:
        with warnings.catch_warnings(), patience():
            warnings.simplefilter("ignore")
            result = case.solve()
    except Endless:
        return "solved", [f"end: {case.method} did not end within {PATIENCE} s"]
    except (ValueError, TypeError, SolverUnavailable) as error:
        words = str(error)
        if re.search("cannot be satisfied|contradict", words) and truth.strict.any():
            return "refused", [f"refusal: {words}, and there are feasible points"]
        return "refused", [] if REFUSED.search(words) else [f"error: {type(error).__name__}: {words}"]
    except Exception as error:
        return "failed", [f"error: {type(error).__name__}: {error}"]
    return f"solved, {result.status}", findings(case, result, truth)


@contextmanager
def patience() -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # of the processor: others may use it, too
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def shrunk(case: Case, kind: str) -> Case:
    """A smaller case with a finding of the same kind."""
    end = time.monotonic() + SHRINKING
    going = True
    while going and time.monotonic() < end:
        going = False
        for less in smaller(case):
            if time.monotonic() > end:
                break
            if _has(less, kind):
                case, going = less, True
                break
    return case


def _has(case: Case, kind: str) -> bool:
    try:
        return any(words.partition(":")[0] == kind for words in judged(case)[1])
    except (ValueError, IndexError):  # what is left is no problem
        return False


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counter[str], list[str]]:
    """Cases of a seed until the time is over, or `most` of them; counts, and what was found."""
    np.set_printoptions(floatmode="unique", threshold=10_000)
    going_on = until(seconds)
    counts: Counter[str] = Counter()
    found: list[str] = []
    number = 0
    while going_on() and number < most:
        rng = np.random.default_rng((seed, number))
        problem = draw_case(rng)
        truth = truth_of(problem)
        for method in draw_methods(rng, METHODS_PER_PROBLEM):
            case = replace(problem, method=method)
            what, wrong = judged(case, truth)
            counts[what] += 1
            counts[method] += 1
            if wrong:
                found.append(reported(case, f"seed {seed}, case {number}", wrong[0], show))
        number += 1
    return counts, found


def reported(case: Case, where: str, words: str, show: bool) -> str:
    """A finding in words; shrunk and printed if it is to be shown."""
    least = shrunk(case, words.partition(":")[0]) if show else case
    text = "\n    ".join(map(str, (f"{where}, {case.method}: {words}", least, judged(least)[1])))
    if show:
        print(text, flush=True)
    return text


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
