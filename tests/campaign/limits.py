"""Whether calls end at their time limits: kinds of calls x sizes x limits, each in a fresh process.

    python -m tests.campaign.limits --seconds 120 --seed 7

A row is a call: what was asked for, what it took by the clock and by the processor, what its result says.
OVER stands where it took more than its limit and what it may beyond: 5 % or 20 ms, and one product of a slow
operator. On a machine that others use too, the processor's time of one thread (the default) is what counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.campaign.command import publish

LIMITS = (0.02, 0.1, 0.5, 2.0)
SHARE, LEAST = 0.05, 0.02
"""What a call may take beyond its limit: a share of it, or seconds."""

SLOW = 0.02
"""Seconds of a product by the slow operator."""

Call = Callable[[float], Any]


def dense(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    A = rng.standard_normal((size, size))
    return A, A @ rng.choice([-1.0, 1.0], size) + rng.standard_normal(size)


def plain(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, b = dense(rng, size)
    return lambda limit: dcra.minimize(A, b, time_limit=limit, n_jobs=jobs)


def squared(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, b = dense(rng, size)
    return lambda limit: dcra.minimize(A, b, "squared", time_limit=limit, n_jobs=jobs)


def array_code(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, b = dense(rng, size)
    return lambda limit: dcra.minimize(A, b, "linf", time_limit=limit, n_jobs=jobs)


def own_method(name: str) -> Callable[[np.random.Generator, int, int], Call]:
    def make(rng: np.random.Generator, size: int, jobs: int) -> Call:
        import dcra

        A, b = dense(rng, size)
        return lambda limit: dcra.minimize(A, b, method=name, time_limit=limit, n_jobs=jobs)

    return make


def sparse(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from scipy import sparse as sp

    import dcra

    A = sp.random_array((20 * size, 20 * size), density=0.2 / size, rng=rng, format="csc")
    b = rng.standard_normal(20 * size)
    return lambda limit: dcra.minimize(A, b, time_limit=limit, n_jobs=jobs)


def slow_operator(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from scipy.sparse.linalg import LinearOperator

    import dcra

    A, b = dense(rng, size)

    def slowly(M: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def product(x: np.ndarray) -> np.ndarray:
            time.sleep(SLOW)
            return M @ x

        return product

    operator = LinearOperator(A.shape, matvec=slowly(A), rmatvec=slowly(A.T), dtype=np.float64)
    return lambda limit: dcra.minimize(operator, b, time_limit=limit, n_jobs=jobs)


def batch(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, _ = dense(rng, size)
    B = rng.standard_normal((size, 50))
    return lambda limit: dcra.minimize_batch(A, B, time_limit=limit, n_jobs=jobs)


def batch_of_flips(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, _ = dense(rng, size)
    B = rng.standard_normal((size, 50))
    return lambda limit: dcra.minimize_batch(A, B, method="flip", time_limit=limit, n_jobs=jobs)


def couplings(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    problem = dcra.Problem(quadratic=rng.standard_normal((size, size)))
    return lambda limit: dcra.solve(problem, time_limit=limit, n_jobs=jobs)


def mixed(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    A, b = dense(rng, size)
    Q = rng.standard_normal((size, size))
    return lambda limit: dcra.minimize(A, b, quadratic=Q, time_limit=limit, n_jobs=jobs)


def counted(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dcra

    problem = dcra.Problem(
        quadratic=rng.standard_normal((size, size)), domain="binary", constraints=dcra.exactly(size // 2)
    )
    return lambda limit: dcra.solve(problem, time_limit=limit, n_jobs=jobs)


def constrained(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from scipy.optimize import LinearConstraint

    import dcra

    A, b = dense(rng, size)
    G = rng.integers(0, 10, (max(1, size // 10), size)).astype(float)
    rows = LinearConstraint(G, -np.inf, 0.4 * G.sum(axis=1))
    return lambda limit: dcra.minimize(A, b, domain="binary", constraints=rows, time_limit=limit, n_jobs=jobs)


def linear_program(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from scipy.optimize import LinearConstraint

    import dcra

    G = rng.integers(0, 10, (max(1, size // 10), size)).astype(float)
    rows = LinearConstraint(G, -np.inf, 0.4 * G.sum(axis=1))
    problem = dcra.Problem(linear=-rng.integers(1, 50, size), domain="binary", constraints=rows)
    return lambda limit: dcra.solve(problem, time_limit=limit, n_jobs=jobs)


def clauses(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps import maxsat

    n = 10 * size
    soft = [[int(s * (v + 1)) for s, v in _literals(rng, n, 3)] for _ in range(5 * n)]
    hard = [[int(s * (v + 1)) for s, v in _literals(rng, n, 3)] for _ in range(n)]
    return lambda limit: maxsat.solve(soft, hard=hard, time_limit=limit, n_jobs=jobs).result


def pairs(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps import maxsat

    soft = [[int(s * (v + 1)) for s, v in _literals(rng, size, 2)] for _ in range(5 * size)]
    return lambda limit: maxsat.solve(soft, time_limit=limit, n_jobs=jobs).result


def assignment(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps.qap import qap

    n = max(5, size // 10)
    F, D = rng.integers(0, 10, (2, n, n))
    return lambda limit: qap(F, D, time_limit=limit, n_jobs=jobs).result


def assignment_by_penalties(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps.qap import qap

    n = max(5, size // 25)
    F, D = rng.integers(0, 10, (2, n, n))
    return lambda limit: qap(F, D, method="anneal", time_limit=limit, n_jobs=jobs).result


def recovery(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps import compressed_sensing

    A, y, _ = compressed_sensing.instance(size, alpha=0.3, rho=0.5, seed=int(rng.integers(2**31)))
    y = y + 0.3 * np.std(y) * rng.standard_normal(y.size)
    return lambda limit: compressed_sensing.recover(A, y, time_limit=limit, n_jobs=jobs)


def recoveries(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps import compressed_sensing

    A, y, _ = compressed_sensing.instance(size, alpha=0.3, rho=0.5, seed=int(rng.integers(2**31)))
    Y = y[:, None] + 0.3 * np.std(y) * rng.standard_normal((y.size, 20))
    return lambda limit: compressed_sensing.recover(A, Y, time_limit=limit, n_jobs=jobs)


def regression(rng: np.random.Generator, size: int, jobs: int) -> Call:
    from dcra.apps import BinaryRegressor

    A, b = dense(rng, size)
    model = BinaryRegressor(fit_intercept=True, n_jobs=jobs)
    return lambda limit: model.set_params(time_limit=limit).fit(A, b + 3.0).result_


def sampler(rng: np.random.Generator, size: int, jobs: int) -> Call:
    import dimod

    from dcra.interop.dimod import DCRASampler

    J = {(i, j): 1.0 for i in range(size) for j in rng.integers(0, size, 5).tolist() if i < j}
    model = dimod.BinaryQuadraticModel.from_ising({}, J)
    return lambda limit: DCRASampler().sample(model, num_reads=20, time_limit=limit, n_jobs=jobs)


def _literals(rng: np.random.Generator, n: int, k: int) -> list[tuple[int, int]]:
    signs, variables = rng.choice([-1, 1], k), rng.choice(n, k, replace=False)
    return list(zip(signs.tolist(), variables.tolist(), strict=True))


KINDS: dict[str, Callable[[np.random.Generator, int, int], Call]] = {
    "plain": plain,
    "squared": squared,
    "array-code": array_code,
    "dcra": own_method("dcra"),
    "sweep": own_method("sweep"),
    "sparse": sparse,
    "slow-operator": slow_operator,
    "batch": batch,
    "batch-of-flips": batch_of_flips,
    "couplings": couplings,
    "mixed": mixed,
    "counted": counted,
    "constrained": constrained,
    "linear-program": linear_program,
    "clauses": clauses,
    "pairs": pairs,
    "assignment": assignment,
    "assignment-by-penalties": assignment_by_penalties,
    "recovery": recovery,
    "recoveries": recoveries,
    "regression": regression,
    "sampler": sampler,
}
SIZES = (50, 300, 1200)


def measure(kind: str, size: int, limit: float, seed: int, jobs: int) -> dict[str, Any]:
    """One call in this process."""
    call = KINDS[kind](np.random.default_rng(seed), size, jobs)
    begin, spent = time.perf_counter(), time.process_time()
    result = call(limit)
    wall, cpu = time.perf_counter() - begin, time.process_time() - spent
    said = getattr(result, "seconds", None)
    starts, ended = getattr(result, "n_starts", None), str(getattr(result, "status", ""))
    return {"wall": wall, "cpu": cpu, "said": said, "starts": starts, "ended": ended}


def allowed(kind: str, limit: float) -> float:
    """Seconds that a call may take."""
    return limit + max(SHARE * limit, LEAST) + (SLOW if kind == "slow-operator" else 0.0)


def row_of(kind: str, size: int, limit: float, seed: int, jobs: int) -> dict[str, Any]:
    """One call in a process of its own."""
    arguments = ["--one", kind, "--size", str(size), "--limit", str(limit), "--seed", str(seed)]
    command = [sys.executable, "-m", "tests.campaign.limits", *arguments, "--jobs", str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    failed = done.returncode != 0
    found = {"error": done.stderr[-300:]} if failed else json.loads(done.stdout.splitlines()[-1])
    return {"kind": kind, "size": size, "asked": limit, **found}


def over(row: dict[str, Any]) -> float:
    """Seconds beyond what a call may take, by the lesser of the clock and the processor."""
    if "error" in row:
        return float("inf")
    taken = row["wall"] if row["kind"] == "slow-operator" else min(row["wall"], row["cpu"])
    return float(taken - allowed(row["kind"], row["asked"]))


def shown(row: dict[str, Any]) -> str:
    head = f"{row['kind']:24s} {row['size']:5d}  asked {row['asked']:5.2f}"
    if "error" in row:
        return f"{head}  ERROR {row['error']}"
    late = over(row)
    said = "" if row["said"] is None else f"  says {row['said']:6.3f}"
    mark = f"  OVER by {late:.3f}" if late > 0 else ""
    end = f"  {row['ended']} {'' if row['starts'] is None else row['starts']}"
    return f"{head}  taken {row['wall']:6.3f}  processor {row['cpu']:6.3f}{said}{end}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="a folder to which a row for each call is added")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--one", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.size, options.limit, options.seed, options.jobs)))
        return
    end = time.perf_counter() + options.seconds
    grid = [(kind, size, limit) for kind in options.kind or KINDS for size in SIZES for limit in LIMITS]
    np.random.default_rng(options.seed).shuffle(grid)
    for k, (kind, size, limit) in enumerate(grid):
        if time.perf_counter() >= end:
            print(f"{k} of {len(grid)} calls were made; more --seconds make more")
            break
        row = row_of(str(kind), int(size), float(limit), options.seed + k, options.jobs)
        publish(options.rows, "limits", options.seed + k, over=over(row), **row)
        print(shown(row), flush=True)


if __name__ == "__main__":
    main()
