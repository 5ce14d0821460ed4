"""What the applications say against brute force: python -m tests.campaign.fields --seconds 60 --seed 7

One small random instance after another for each kind of call: batches, MIMO detection, recovery, Max-SAT,
cuts, assignments and regressions with an intercept. All points are tried, in long double; a claim is a value,
a bound, or the word "optimal". A finding is printed with the seed and the number that make it again.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import permutations, product
from math import inf

import numpy as np

import dcra
from dcra.apps import maxsat, mimo
from dcra.apps.compressed_sensing import recover
from dcra.apps.hashing import SupervisedHashing
from dcra.apps.mimo.constellations import constellation_of
from dcra.apps.qap import qap
from dcra.apps.quadratic import maxcut
from dcra.apps.regression import BinaryRegressor
from dcra.losses import NAMES
from tests.campaign.cases import PROFILES, Case, Part, Rng
from tests.campaign.command import main, until
from tests.campaign.oracle import EPS, LONG, truth_of

Words = list[str]


def numbers(rng: Rng, *shape: int) -> np.ndarray:
    return PROFILES[str(rng.choice(list(PROFILES)))](rng, shape)


def claims(
    value: float, at: float, bound: float, best: float, optimal: bool, room: float, of: str = ""
) -> Words:
    """What is wrong with a value claimed where it is `at`, a bound where the least is `best`, an optimum."""
    wrong = []
    if not abs(value - at) <= room:
        wrong.append(f"fun: {of}{value!r}, where it is {at!r}; room {room:.3g}")
    if not bound <= best + room:
        wrong.append(f"bound: {of}{bound!r} above the optimum {best!r}; room {room:.3g}")
    if optimal and not at <= best + room:
        wrong.append(f"status: {of}optimal at {at!r}, and not at {best!r}; room {room:.3g}")
    return wrong


def batch(rng: Rng) -> Words:
    n, r, k = (int(rng.integers(1, most)) for most in (9, 7, 6))
    A, B = numbers(rng, r, n), numbers(rng, r, k)
    loss, domain = str(rng.choice(list(NAMES))), str(rng.choice(["spin", "binary"]))
    found = dcra.minimize_batch(A, B, loss, domain=domain, starts=2, seed=1, n_jobs=1)
    again = dcra.minimize_batch(A, B, loss, domain=domain, starts=2, seed=1, n_jobs=3)
    wrong = [] if np.array_equal(found.x, again.x) else ["jobs: three of them have another answer than one"]
    return wrong + columns_judged(found, A, B, loss, domain)


def columns_judged(found: dcra.BatchResult, A: np.ndarray, B: np.ndarray, loss: str, domain: str) -> Words:
    """What is wrong with the objectives of a batch."""
    wrong = []
    for j in range(B.shape[1]):
        case = Case(A.shape[1], domain, "auto", (Part(loss, A, B[:, j], np.asarray(1.0)),))
        truth = truth_of(case)
        at = truth.of(np.asarray(found.x[:, j], float))
        size = np.abs(A).sum() + np.abs(B[:, j]).sum()
        room = 1e-12 * float(abs(truth.values[at]) + _steepest(loss, size) * size) + truth.errors[at]
        wrong += claims(found.fun[j], truth.values[at], -inf, 0.0, False, room, f"column {j}: ")
    return wrong


def _steepest(loss: str, reach: float) -> float:
    """A bound of the loss's slope on residuals up to `reach`."""
    lipschitz = float(NAMES[loss]().lipschitz)
    return 2 * reach if lipschitz == inf else lipschitz


def detection(rng: Rng) -> Words:
    name = str(rng.choice(["bpsk", "qpsk", "16qam", "64qam"]))
    kind = constellation_of(name)
    send = int(rng.integers(1, 4 if name in ("bpsk", "qpsk") else 3))
    receive, frames = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    shape = (receive, send)
    H = numbers(rng, *shape) + 1j * numbers(rng, *shape)
    points = kind.symbols(np.array(list(product(kind.choices, repeat=kind.parts))))[:, 0]
    sent = rng.choice(points, (send, frames))
    y = H @ sent + float(rng.choice([0.0, 0.1, 1.0])) * (numbers(rng, receive, frames) + 0j)
    found = mimo.detect(H, y, None, name, seed=1, n_jobs=1)
    every = np.array(list(product(points, repeat=send))).T.astype(np.clongdouble)
    wrong = []
    for j in range(frames):
        losses = np.sum(np.abs(H.astype(np.clongdouble) @ every - y[:, [j]]) ** 2, axis=0)
        off = np.abs(every - found.symbols[:, [j]]).max(axis=0)
        if off.min() > 1e-12:
            wrong.append(f"point: {found.symbols[:, j]} is none of {name}")
            continue
        size = float(np.abs(H).sum() + np.abs(y[:, j]).sum()) ** 2
        room = 1e-13 * size + 64 * EPS * size
        at = losses[off.argmin()]
        wrong += claims(found.fun[j], at, -inf, losses.min(), bool(found.proven[j]), room, f"frame {j}: ")
    return wrong


def recovery(rng: Rng) -> Words:
    n, r = int(rng.integers(2, 11)), int(rng.integers(2, 9))
    A = numbers(rng, r, n)
    y = A @ rng.integers(0, 2, n) + float(rng.choice([0.0, 0.3])) * numbers(rng, r)
    found = recover(A, y, lam=float(rng.choice([0.0, 0.1])), loss="l1", seed=1, n_jobs=1)
    part = Part("l1", A, y, np.asarray(1.0))
    truth = truth_of(Case(n, "binary", "auto", (part,), linear=np.full(n, found.lam)))
    at = truth.of(np.asarray(found.x, float))
    room = 1e-12 * float(np.abs(A).sum() + np.abs(y).sum() + n * found.lam) + truth.errors[at]
    values = truth.values
    return claims(
        found.objective, values[at], found.lower_bound, values.min(), found.status == "optimal", room
    )


def clauses(rng: Rng) -> Words:
    n, m = int(rng.integers(1, 9)), int(rng.integers(1, 25))
    lists = [_clause(rng, n) for _ in range(m)]
    weights = _weights(rng, m)
    hard = [_clause(rng, n) for _ in range(rng.choice([0, 0, 3, 12]))]
    found = maxsat.solve(lists, weights, hard, starts=2, seed=1, n_jobs=1)
    every = np.array(list(product([False, True], repeat=found.assignment.size)))
    false = np.array([[not _true(c, x) for c in lists] for x in every], float)
    costs = false @ weights.astype(LONG)
    allowed = np.array([all(_true(c, x) for c in hard) for x in every])
    at = int(np.flatnonzero(np.all(every == found.assignment, axis=1))[0])
    room = 1e-12 * float(np.abs(weights).sum())
    if not allowed.any():
        return ["status: feasible, and no point is"] if found.feasible else []
    if not found.feasible:
        return ["status: infeasible, and there are points"] if found.result.status == "infeasible" else []
    wrong = [] if allowed[at] else ["feasible: a hard clause is false"]
    best = costs[allowed].min()
    return wrong + claims(found.cost, costs[at], found.lower_bound, best, found.optimal, room)


def _clause(rng: Rng, n: int) -> list[int]:
    length = int(rng.integers(1, 4))
    return [int(v) * int(rng.choice([-1, 1])) for v in rng.integers(1, n + 1, length)]


def _true(clause: list[int], x: np.ndarray) -> bool:
    return any(bool(x[abs(v) - 1]) == (v > 0) for v in clause)


def _weights(rng: Rng, m: int) -> np.ndarray:
    kinds: list[Callable[[], np.ndarray]] = [
        lambda: np.ones(m),
        lambda: rng.integers(1, 10, m).astype(float),
        lambda: 10.0 ** rng.integers(0, 18, m),
        lambda: rng.random(m) + 1e-3,
    ]
    return kinds[rng.integers(len(kinds))]()


def cut(rng: Rng) -> Words:
    n = int(rng.integers(2, 11))
    W = np.triu(numbers(rng, n, n) * (rng.random((n, n)) < 0.6), 1)
    found = maxcut(W + W.T, starts=2, seed=1, n_jobs=1)
    every = np.array(list(product([-1.0, 1.0], repeat=n))).astype(LONG)
    weights = ((every[:, :, None] != every[:, None, :]) * W.astype(LONG)).sum(axis=(1, 2))
    at = int(np.flatnonzero(np.all(every == np.asarray(found.result.x), axis=1))[0])
    room = 1e-13 * n * float(np.abs(W).sum())
    optimal = found.result.status == "optimal"
    return claims(-found.weight, -weights[at], -found.upper_bound, -weights.max(), optimal, room)


def assignment(rng: Rng) -> Words:
    n = int(rng.integers(2, 6))
    F, D = numbers(rng, n, n), numbers(rng, n, n)
    found = qap(F, D, starts=2, seed=1, n_jobs=1)
    costs = [np.sum(F.astype(LONG) * D[np.ix_(p, p)].astype(LONG)) for p in permutations(range(n))]
    p = found.permutation
    at = np.sum(F.astype(LONG) * D[np.ix_(p, p)].astype(LONG))
    room = 1e-12 * float(np.abs(F).sum()) * float(np.abs(D).max())
    optimal = found.result.status == "optimal"
    return claims(found.cost, at, found.result.lower_bound, min(costs), optimal, room)


def regression(rng: Rng) -> Words:
    """Pairs of weights and intercept: under squares the best intercept of each point is a mean."""
    n, r = int(rng.integers(1, 8)), int(rng.integers(2, 10))
    X, y = numbers(rng, r, n), numbers(rng, r)
    if not np.abs(X).max() < 1e100:
        return []
    found = BinaryRegressor("squared", fit_intercept=True, starts=2, random_state=1, n_jobs=1).fit(X, y)
    every = np.array(list(product([-1.0, 1.0], repeat=n))).astype(LONG)
    Z = every @ X.T.astype(LONG) - y
    values = np.sum((Z - Z.mean(axis=1, keepdims=True)) ** 2, axis=1)
    room = 1e-11 * (float(np.abs(X).sum() + np.abs(y).sum()) ** 2)
    at = np.sum((X.astype(LONG) @ found.coef_.astype(LONG) + LONG(found.intercept_) - y) ** 2)
    optimal = found.result_.status == "optimal" and found.lower_bound_ >= found.result_.fun
    return claims(at, at, found.lower_bound_, values.min(), optimal, room)


def hashing(rng: Rng) -> Words:
    """Codes are signs, and no step of the alternation raises the objective."""
    n, bits = int(rng.integers(2, 30)), int(rng.integers(1, 9))
    features, y = numbers(rng, n, int(rng.integers(1, 6))), rng.integers(0, int(rng.integers(2, 4)), n)
    model = SupervisedHashing(bits, random_state=int(rng.integers(100))).fit(features, y)
    path, wrong = np.asarray(model.objective_path_), []
    if not np.all(np.isfinite(path)):
        wrong.append(f"fun: an objective that is no number: {path}")
    if np.any(np.diff(path) > 1e-9 * np.abs(path[:-1]) + 1e-12):
        wrong.append(f"fun: an objective that rises: {path}")
    found = (model.codes_, model.transform(features))
    signs = [codes.shape == (n, bits) and bool(np.all(np.abs(codes) == 1)) for codes in found]
    return wrong if all(signs) else [*wrong, f"codes: no {n} x {bits} signs: {found}"]


KINDS = (batch, detection, recovery, clauses, cut, assignment, regression, hashing)


def run(seconds: float, seed: int, most: float = inf, show: bool = True) -> tuple[Counter[str], Words]:
    """Instances of every kind in turn, until the time is over or there were `most`; counts and findings."""
    going_on, number = until(seconds), 0
    counts: Counter[str] = Counter()
    found: Words = []
    while going_on() and number < most:
        kind = KINDS[number % len(KINDS)]
        for words in judged(kind, np.random.default_rng((seed, number))):
            found.append(f"seed {seed}, number {number}, {kind.__name__}: {words}")
            if show:
                print(found[-1], flush=True)
        counts[kind.__name__] += 1
        number += 1
    return counts, found


def judged(kind: Callable[[Rng], Words], rng: Rng) -> Words:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind(rng)
    except ValueError as error:
        return [] if "`" in str(error) else [f"error: ValueError: {error}"]
    except Exception as error:
        return [f"error: {type(error).__name__}: {error}"]


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
