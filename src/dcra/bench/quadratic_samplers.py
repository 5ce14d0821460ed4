"""Samplers of others: dwave-samplers' annealing and tabu search, OpenJij, bifurcation, and qqa."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.bench.base import Skip
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer, Rival
from dcra.model.problem import Problem

PROBE_SHARE, PROBE_SECONDS, PROBES = 0.3, 0.5, 2
"""The pace of a tool is measured beforehand, in runs of this share of its time, or of these seconds."""

AGENTS, LEAST_AGENTS, ENOUGH_STEPS = 128, 8, 1000
"""Bifurcation has its default of 128 agents, or fewer where they could not make enough steps."""


def dwave_annealing(reads: int) -> Rival:
    """Its annealing in so many reads, with the number of sweeps that fills the time."""

    def prepare(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
        model, sampler = _model(problem), _samplers().SimulatedAnnealingSampler()
        sweeps = _fitting(
            lambda sweeps: sampler.sample(model, num_reads=reads, num_sweeps=sweeps, seed=1), allowed.seconds
        )

        def part(k: int) -> Any:
            seed = allowed.threads * allowed.seed + k
            return sampler.sample(model, num_reads=reads, num_sweeps=sweeps, seed=seed).first

        return lambda: _best_of(part, problem.n, allowed.threads)

    return prepare


def dwave_tabu(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    model, sampler = _model(problem), _samplers().TabuSampler()

    def part(k: int) -> Any:
        seed = allowed.threads * allowed.seed + k
        return sampler.sample(model, timeout=int(1000 * allowed.seconds), num_reads=1, seed=seed).first

    return lambda: _best_of(part, problem.n, allowed.threads)


def openjij(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """OpenJij's annealing in one read, with the number of sweeps that fills the time."""
    try:
        import openjij
    except ImportError:
        raise Skip("openjij is not installed; `pip install dcra[samplers]` brings it") from None
    model, sampler = _model(problem), openjij.SASampler()

    def run(sweeps: int, seed: int = 1) -> Any:
        return sampler.sample(model, num_reads=1, num_sweeps=sweeps, sparse=True, seed=seed).first

    sweeps = _fitting(run, allowed.seconds)

    def part(k: int) -> Any:
        return run(sweeps, allowed.threads * allowed.seed + k)

    return lambda: _best_of(part, problem.n, allowed.threads)


def quasi_quantum(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """Parallel quasi-quantum annealing with its defaults, in as many epochs as fill the time."""
    try:
        import qqa
        import torch
    except ImportError:
        raise Skip("qqa is not installed; `pip install dcra[samplers]` brings it") from None
    objective = _sparse_objective(problem)
    torch.set_num_threads(allowed.threads)

    def run(epochs: int) -> Host:
        qqa.fix_seed(allowed.seed)
        options = {"num_epochs": epochs, "check_interval": epochs, "record_history": False, "verbose": False}
        found = qqa.anneal(objective, **options).best_sol
        return np.asarray(found.cpu().numpy(), np.float64).reshape(problem.n)

    epochs = _fitting(run, allowed.seconds)

    def answer() -> QuadraticAnswer:
        x = run(epochs)
        return QuadraticAnswer(x if problem.domain == "binary" else 2 * x - 1)

    return answer


def _sparse_objective(problem: Problem) -> Any:
    """A problem over {0,1} as qqa has it: a linear part, and a weight for each pair."""
    import torch
    from qqa.compile import SparseQUBO
    from qqa.engines.qqa.sparse import SparseQUBOProblem

    model = _model(problem).change_vartype("BINARY", inplace=False)
    linear, (row, col, weight), _ = model.to_numpy_vectors(range(problem.n))
    pairs = torch.tensor(np.stack([row, col]).astype(np.int64))
    return SparseQUBOProblem(SparseQUBO(torch.tensor(linear).float(), pairs, torch.tensor(weight).float()))


def _best_of(part: Callable[[int], Any], n: int, threads: int) -> QuadraticAnswer:
    """The best of one sample for each thread."""
    with ThreadPoolExecutor(threads) as pool:
        best = min(pool.map(part, range(threads)), key=lambda sample: float(sample.energy))
    return QuadraticAnswer(np.asarray([best.sample[v] for v in range(n)], np.float64))


def bifurcation(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """simulated-bifurcation, in one run of as many steps as fit."""
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
    torch.set_num_threads(allowed.threads)

    def run(agents: int, steps: int) -> Host:
        """The pressure rises from 0 to 1 during the steps, however many; by default it takes 1000."""
        torch.manual_seed(allowed.seed)
        sb.set_env(pressure_slope=1.0 / (steps * sb.get_env()["time_step"]))
        options = {"agents": agents, "max_steps": steps, "early_stopping": False, "verbose": False}
        x, _ = sb.minimize(Q, c, 0.0, domain="spin", **options)
        return np.asarray(x.cpu().numpy(), np.float64)

    agents, steps = _agents_and_steps(run, allowed.seconds)

    def answer() -> QuadraticAnswer:
        s = run(agents, steps)
        return QuadraticAnswer(s if problem.domain == "spin" else (s + 1) / 2)

    return answer


def _agents_and_steps(run: Callable[[int, int], Host], seconds: float) -> tuple[int, int]:
    """As many agents as can make enough steps in the time, and those steps."""
    agents = AGENTS
    while True:
        steps = _fitting(partial(run, agents), seconds)
        if steps >= ENOUGH_STEPS or agents <= LEAST_AGENTS:
            return agents, steps
        agents //= 4


def _fitting(run: Callable[[int], Any], seconds: float) -> int:
    """How many sweeps or steps fill the time: twice as many are tried until they take a good part of it.

    What a call takes without any is subtracted. The least of several times counts: other work on the machine
    must not make a tool look slow.
    """
    overhead, tried, taken = _least_seconds(run, 1, PROBES + 1), 1, 0.0  # the first call is for loading
    while taken < min(PROBE_SHARE * seconds, PROBE_SECONDS):
        tried *= 2
        taken = _least_seconds(run, tried, 1) - overhead
    taken = min(taken, _least_seconds(run, tried, PROBES) - overhead)
    return max(1, int(tried * max(seconds - overhead, 0.5 * seconds) / taken))


def _least_seconds(run: Callable[[int], Any], count: int, times: int) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        run(count)
        taken.append(time.perf_counter() - begin)
    return min(taken)


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
