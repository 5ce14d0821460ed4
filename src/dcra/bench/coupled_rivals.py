"""Who solves quadratic objectives: our methods and the tools people use today, all behind one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import to_numpy
from dcra.api import solve
from dcra.bench.base import Skip
from dcra.problem import Problem

Host = np.ndarray[Any, Any]

THREADS = 2


@dataclass(frozen=True)
class Rival:
    """`solve(problem, seconds, seed)` gives a point of the domain; `warm` compiles before the clock runs."""

    solve: Callable[[Problem, float, int], Host]
    warm: Callable[[Problem], Any] = lambda problem: None


def ours(method: str) -> Rival:
    def run(problem: Problem, seconds: float, seed: int) -> Host:
        return to_numpy(solve(problem, method=method, time_limit=seconds, seed=seed, n_jobs=THREADS).x)

    def warm(problem: Problem) -> None:
        for name in {method, "anneal"}:  # without a limit "auto" may enumerate, and load no loops
            solve(problem, method=name, starts=1, seed=0, n_jobs=1)

    return Rival(run, warm)


def _model(problem: Problem) -> Any:
    try:
        from dcra.interop.dimod import bqm_of
    except ImportError as error:
        raise Skip(str(error)) from error
    return bqm_of(problem)


def _samplers() -> Any:
    try:
        from dwave import samplers
    except ImportError:
        raise Skip("dwave-samplers is not installed") from None
    return samplers


def dwave_annealing(problem: Problem, seconds: float, seed: int) -> Host:
    """Its annealing with the number of sweeps that fills the budget; the best of three ways to split it."""
    model = _model(problem)
    sampler = _samplers().SimulatedAnnealingSampler()
    overhead, per_sweep = _pace(
        lambda sweeps: sampler.sample(model, num_reads=1, num_sweeps=sweeps, seed=seed)
    )
    answers: list[tuple[float, Host]] = []
    for reads in (1, 4, 16):
        sweeps = max(1, int((seconds - overhead) / (reads * per_sweep)))

        def half(part: int, reads: int = reads, sweeps: int = sweeps) -> tuple[float, Host]:
            best = sampler.sample(model, num_reads=reads, num_sweeps=sweeps, seed=2 * seed + part).first
            return best.energy, np.asarray([best.sample[v] for v in range(problem.n)], np.float64)

        with ThreadPoolExecutor(THREADS) as pool:
            answers += pool.map(half, range(THREADS))
    return min(answers, key=lambda answer: answer[0])[1]


def _pace(sample: Callable[[int], Any]) -> tuple[float, float]:
    """Seconds of a call without sweeps, and of one sweep; the first call is for loading."""
    seconds = []
    for sweeps in (1, 1, 1000):
        begin = time.perf_counter()
        sample(sweeps)
        seconds.append(time.perf_counter() - begin)
    _, short, long = seconds
    return short, max(long - short, 0.1 * long) / 1000


def dwave_tabu(problem: Problem, seconds: float, seed: int) -> Host:
    model = _model(problem)
    sampler = _samplers().TabuSampler()

    def half(part: int) -> tuple[float, Host]:
        best = sampler.sample(model, timeout=int(1000 * seconds), num_reads=1, seed=2 * seed + part).first
        return best.energy, np.asarray([best.sample[v] for v in range(problem.n)], np.float64)

    with ThreadPoolExecutor(THREADS) as pool:
        return min(pool.map(half, range(THREADS)), key=lambda answer: answer[0])[1]


def bifurcation(problem: Problem, seconds: float, seed: int) -> Host:
    """simulated-bifurcation: 128 agents, steps as the time allows."""
    try:
        import simulated_bifurcation as sb
        import torch
    except ImportError:
        raise Skip("simulated-bifurcation is not installed") from None
    spin = problem.to_spin()
    assert spin.quadratic is not None
    A = spin.quadratic.operator.A
    Q = torch.tensor(A.toarray() if hasattr(A, "toarray") else to_numpy(A), dtype=torch.float32)
    c = torch.zeros(problem.n) if spin.linear is None else torch.tensor(to_numpy(spin.linear)).float()
    torch.manual_seed(seed)
    steps, best, value = 100, np.ones(problem.n), np.inf
    begin = time.perf_counter()
    while True:
        lap = time.perf_counter()
        x, _ = sb.minimize(
            Q, c, 0.0, domain="spin", agents=128, max_steps=steps, early_stopping=False, verbose=False
        )
        s = np.asarray(x.cpu().numpy(), np.float64)
        found = spin.objective(s)
        if found < value:
            best, value = s, found
        spent = time.perf_counter() - lap
        left = seconds - (time.perf_counter() - begin)
        if left < spent:
            break
        steps = int(min(2 * steps, steps * left / spent))
    return best if problem.domain == "spin" else (best + 1) / 2


def highs(problem: Problem, seconds: float, seed: int) -> Host:
    """The products as variables of their own, y <= x_i, y <= x_j, y >= x_i + x_j - 1."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    linear, row, col, value = _over_bits(problem)
    m, n = value.size, problem.n
    if m > 20_000:
        raise Skip(f"{m} products are too many for a MILP in {seconds:g} s")
    eye, one = sparse.identity(m), np.ones(m)
    first, second = (sparse.csr_array((one, (np.arange(m), ix)), shape=(m, n)) for ix in (row, col))
    A = sparse.vstack(
        [
            sparse.hstack([first, -eye]),
            sparse.hstack([second, -eye]),
            sparse.hstack([-first - second, eye]),
        ]
    )
    low = np.concatenate([np.zeros(2 * m), -np.ones(m)])
    kinds = np.concatenate([np.ones(n), np.zeros(m)])
    limits = LinearConstraint(sparse.csr_array(A), low, np.inf)
    options: Any = {"time_limit": seconds}
    found = milp(
        np.concatenate([linear, value]),
        constraints=limits,
        integrality=kinds,
        bounds=Bounds(0, 1),
        options=options,
    )
    x = np.zeros(n) if found.x is None else np.rint(found.x[:n])
    return x if problem.domain == "binary" else 2 * x - 1


def gurobi(problem: Problem, seconds: float, seed: int) -> Host:
    try:
        import gurobipy as gp
    except ImportError:
        raise Skip("gurobipy is not installed") from None
    from scipy import sparse

    linear, row, col, value = _over_bits(problem)
    try:
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
            model.Params.TimeLimit, model.Params.Threads, model.Params.Seed = seconds, THREADS, seed
            x: Any = model.addMVar(problem.n, vtype="B")
            Q = sparse.csr_array((value, (row, col)), shape=(problem.n, problem.n))
            model.setObjective(x @ Q @ x + linear @ x)
            model.optimize()
            bits = np.rint(x.X) if model.SolCount else np.zeros(problem.n)
    except gp.GurobiError as error:
        raise Skip(f"Gurobi: {error}") from error
    return bits if problem.domain == "binary" else 2 * bits - 1


def _over_bits(problem: Problem) -> tuple[Host, Host, Host, Host]:
    """c and the pairs (i, j, value) of the objective over {0,1}, up to its constant."""
    from scipy import sparse

    quadratic = problem.quadratic
    assert quadratic is not None
    upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
    row, col = upper.coords
    linear = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear)
    if problem.domain == "binary":
        return linear + quadratic.diagonal, row, col, 2.0 * upper.data
    sums = to_numpy(quadratic.row_sums) - quadratic.diagonal
    return 2.0 * linear - 4.0 * sums, row, col, 8.0 * upper.data


RIVALS: dict[str, Rival] = {
    "auto": ours("auto"),
    "anneal": ours("anneal"),
    "tabu": ours("tabu"),
    "sweep": ours("sweep"),
    "dcra": ours("dcra"),
    "sdp-rounding": ours("sdp-rounding"),
    "flip": ours("flip"),
    "random": ours("random"),
    "dwave-sa": Rival(dwave_annealing),
    "dwave-tabu": Rival(dwave_tabu),
    "bifurcation": Rival(bifurcation),
    "highs": Rival(highs),
    "gurobi": Rival(gurobi),
}
