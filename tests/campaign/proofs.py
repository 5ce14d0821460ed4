"""Proofs against brute force: python -m tests.campaign.proofs --seconds 60 --seed 7

Every case is solved by method "exact" and judged in long double. Of every few the proof is written to a file
and verified without rounding, and so is what damage makes of it: a file that was changed must be refused,
and a proof with other contents and a right sum must not show more than is true. Pools of couplings alone are
compared with the best of all points.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path
from unittest.mock import patch

import numpy as np

import dcra
from dcra._kernels.branching import Event
from dcra.exact import couplings_branch, dual_branch
from dcra.exact.certificate import Certificate
from dcra.exact.couplings_certificate import AnyCertificate, PairCertificate
from dcra.exact.verification import verify
from dcra.io import read_proof
from dcra.messages import SolverUnavailable
from dcra.model.exact_value import exact_value
from dcra.model.rounding import errors_at
from tests.campaign.cases import PROFILES, Case, Rng, draw_case
from tests.campaign.command import main, until
from tests.campaign.oracle import Truth, findings, truth_of
from tests.campaign.problems import Endless, patience, reported

MOST_VARIABLES, FEW = 14, 8
"""Variables of a case: most of them have few, so that there are many cases."""

LARGE = 0.1
"""Share of cases with more than a few."""

COUPLED = 0.25
"""Share of cases that are couplings alone."""

BESIDE = 0.3
"""Share of the others that have couplings beside losses and constraints."""

FEW_SPINS = 3
"""Spins that are left up to which trees over couplings look at all points: there would be no trees else."""

FEW_LEFT = 1
"""The same of trees by dual bounds."""

EVERY = 20
"""Cases of which the proof of one is written, verified and damaged."""

Counts = Counter[str]


def draw(rng: Rng) -> Case:
    """A case for trees: couplings alone, beside losses and constraints, or none."""
    case = draw_case(rng, MOST_VARIABLES if rng.random() < LARGE else FEW)
    if rng.random() < COUPLED:
        name = str(rng.choice(list(PROFILES)))
        Q = PROFILES[name](rng, (case.n, case.n))
        return replace(case, method="exact", parts=(), rows=(), quadratic=Q, profiles=(*case.profiles, name))
    linear = case.linear if case.parts or case.linear is not None else rng.standard_normal(case.n)
    if rng.random() < BESIDE:
        name = str(rng.choice(list(PROFILES)))
        Q = PROFILES[name](rng, (case.n, case.n)) * (rng.random((case.n, case.n)) < rng.choice([0.3, 1.0]))
        return replace(case, method="exact", quadratic=Q, linear=linear, profiles=(*case.profiles, name))
    return replace(case, method="exact", quadratic=None, linear=linear)


@contextmanager
def larger_trees() -> Iterator[None]:
    """All points are looked at later than they would be."""
    with patch.object(couplings_branch, "SMALL", FEW_SPINS), patch.object(dual_branch, "SMALL", FEW_LEFT):
        yield


def solved(case: Case) -> dcra.Result | str:
    """The result of a case, or why there is none."""
    try:
        with warnings.catch_warnings(), patience(), larger_trees():
            warnings.simplefilter("ignore")
            return case.solve()
    except (ValueError, SolverUnavailable) as error:
        return f"refused: {error}"
    except Endless:
        return "end: it did not end"


def judged(case: Case, counts: Counts, rng: Rng | None = None) -> list[str]:
    """What is wrong with the proof of a case; its file is looked at, too, where there is an `rng`."""
    result = solved(case)
    if isinstance(result, str):
        counts["refused" if result.startswith("refused") else "endless"] += 1
        return [] if result.startswith("refused") else [result]
    truth = truth_of(case)
    if not np.all(np.isfinite(truth.values.astype(float))):
        counts["overflow"] += 1
        return []
    counts[f"solved, {result.status}"] += 1
    if case.quadratic is not None and (case.parts or case.rows):
        counts[f"couplings beside others, {result.status}"] += 1
    if any(part.loss in ("l2", "linf") for part in case.parts):
        counts[f"l2 or maximum losses, {result.status}"] += 1
    wrong = findings(case, result, truth)
    if rng is not None and result.certificate is not None:
        wrong += about_file(case, result, truth, counts, rng)
    alone = case.quadratic is not None and not case.parts and not case.rows
    if rng is not None and alone and case.n <= FEW:
        wrong += about_pool(case, truth, int(rng.integers(2, 9)), counts)
    return wrong


def about_pool(case: Case, truth: Truth, size: int, counts: Counts) -> list[str]:
    """What is wrong with the best points of couplings alone, judged without rounding."""
    problem = case.problem()
    with warnings.catch_warnings(), larger_trees():
        warnings.simplefilter("ignore")
        pool = dcra.solve(problem, method="exact", starts=1, seed=case.seed, n_jobs=1, pool=size).pool
    if not pool.proven:
        counts["pools not proven"] += 1
        return []
    counts["pools proven"] += 1
    points = np.asarray(pool.points, np.float64)
    least = sorted(exact_value(problem, x) for x in truth.X)[: len(points)]
    chosen = sorted(exact_value(problem, x) for x in points)
    slack = 2 * Fraction(float(np.max(errors_at(problem, points))))
    enough = len(points) == min(size, len(truth.X)) == len(np.unique(points, axis=0))
    right = all(one <= best + slack for one, best in zip(chosen, least, strict=True))
    return [] if enough and right else [f"pool: {pool.values.tolist()} are not the best"]


def about_file(case: Case, result: dcra.Result, truth: Truth, counts: Counts, rng: Rng) -> list[str]:
    """What is wrong with a proof's file, or with what damaged ones are taken for."""
    problem, least = case.problem(), float(least_of(truth))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        result.proof(path)
        data, own = path.read_bytes(), read_proof(path)
        try:
            verdict = verify(own, problem, True)
        except ValueError as error:
            return [f"proof: {error}"]
        about = "couplings" if isinstance(own, PairCertificate) else "losses"
        counts[f"files verified, {about}"] += 1
        if verdict.bound > Fraction(least) + Fraction(result.tiny):
            return [f"proof: verified, and its bound {float(verdict.bound)!r} is above {least!r}"]
        path.write_bytes(damaged(data, rng))
        wrong = about_damage(path, own, problem, counts)
    return wrong + about_forgery(forged(own, rng), problem, least + result.tiny, counts)


def least_of(truth: Truth) -> np.longdouble:
    """More than the optimum: it may be that of points that satisfy all rows without any slack."""
    fine = truth.strict if truth.strict.any() else truth.certain
    return np.min(truth.values[fine] + truth.errors[fine], initial=np.longdouble(inf))


def damaged(data: bytes, rng: Rng) -> bytes:
    """A file with a byte changed, added or left out, or cut off."""
    broken, at, kind = bytearray(data), int(rng.integers(len(data))), int(rng.integers(4))
    if kind == 0:
        broken[at] ^= int(rng.integers(1, 256))
    elif kind == 1:
        broken[at:at] = bytes([int(rng.integers(256))])
    elif kind == 2:
        del broken[at]
    else:
        del broken[at:]
    return bytes(broken)


def about_damage(path: Path, own: AnyCertificate, problem: dcra.Problem, counts: Counts) -> list[str]:
    try:
        found = read_proof(path)
        verify(found, problem, True)
    except ValueError:
        counts["damaged files refused"] += 1
        return []
    one, two = own.arrays(), found.arrays()
    if all(np.array_equal(one[name], two[name]) for name in one):
        counts["damaged where nothing is read"] += 1
        return []
    return ["damage: a file was changed, and verified"]


def forged(proof: AnyCertificate, rng: Rng) -> AnyCertificate:
    """Other contents under a right sum."""
    return forged_pairs(proof, rng) if isinstance(proof, PairCertificate) else forged_tree(proof, rng)


def forged_pairs(proof: PairCertificate, rng: Rng) -> PairCertificate:
    events, triangles, kind = proof.events.copy(), proof.triangles.copy(), int(rng.integers(7))
    at = int(rng.integers(len(events)))
    if kind == 0:
        return replace(proof, events=np.delete(events, at, axis=0))
    if kind == 1:
        size = max(abs(proof.bound), 1e-300)
        return replace(proof, bound=proof.bound + size * 10.0 ** rng.integers(-15, 2))
    if kind == 2 and proof.y.size:
        y = proof.y.copy()
        y[tuple(rng.integers(y.shape))] *= 1 - 10.0 ** rng.integers(-15, 1)
        return replace(proof, y=y)
    if kind == 3 and proof.prices.size:
        prices = proof.prices.copy()
        prices[rng.integers(prices.size)] *= rng.choice([-1.0, 0.0, 0.5, 2.0])
        return replace(proof, prices=prices)
    if kind == 4 and len(triangles):
        triangles[rng.integers(len(triangles)), rng.integers(4)] += rng.choice([-1, 1])
        return replace(proof, triangles=triangles)
    if kind == 5:
        return replace(proof, unit=proof.unit * float(rng.choice([0.5, 2.0, -1.0, 1.5])))
    events[at, rng.integers(6)] = rng.integers(-1, 4)
    return replace(proof, events=events)


def forged_tree(proof: Certificate, rng: Rng) -> Certificate:
    events, kind = proof.events.copy(), int(rng.integers(5))
    at = int(rng.integers(len(events)))
    if kind == 0:
        return replace(proof, events=np.delete(events, at, axis=0))
    if kind == 1:
        size = max(abs(proof.cutoff), 1e-300)
        return replace(proof, cutoff=proof.cutoff + size * 10.0 ** rng.integers(-12, 2))
    if kind == 2 and proof.ends.size:
        ends = proof.ends.copy()
        place = np.unravel_index(int(rng.integers(ends.size)), ends.shape)
        ends[place] = -ends[place]
        return replace(proof, ends=ends)
    if kind == 3 and proof.values.size:
        return replace(proof, values=proof.values * (1 + 10.0 ** rng.integers(-15, 1)))
    events[at, 0] = rng.choice([Event.TO_LOW, Event.TO_HIGH, Event.LEAF, Event.POINT])
    return replace(proof, events=events)


def about_forgery(proof: AnyCertificate, problem: dcra.Problem, least: float, counts: Counts) -> list[str]:
    try:
        verdict = verify(proof, problem, True)
    except (ValueError, IndexError):  # what indices it has is checked when a file is read
        counts["forged proofs refused"] += 1
        return []
    counts["forged proofs that hold all the same"] += 1
    above = least < inf and verdict.bound > Fraction(least)
    return ["forgery: a proof shows more than is true"] if above else []


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counts, list[str]]:
    """Cases of a seed until the time is over, or `most` of them; counts, and what was found."""
    np.set_printoptions(floatmode="unique", threshold=10_000)
    going_on = until(seconds)
    counts: Counts = Counter()
    found: list[str] = []
    number = 0
    while going_on() and number < most:
        rng = np.random.default_rng((seed, number))
        case = draw(rng)
        wrong = judged(case, counts, rng if number % EVERY == 0 else None)
        if wrong:
            found.append(reported(case, f"seed {seed}, case {number}", wrong[0], show))
        number += 1
        if show and number % 5000 == 0:
            print(dict(counts), flush=True)
    return counts, found


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
