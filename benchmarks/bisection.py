"""Balanced bisection beside Kernighan-Lin restarts and CP-SAT, at equal wall time and two threads each.

    python benchmarks/bisection.py [seconds ...] [--sizes 60 120 250 500] [--seeds 3]

Prints, for each graph and time, the mean weight of the cut over the seeds. Kernighan-Lin is NetworkX's, in
two processes that restart until the time is up; a restart under way may end late. CP-SAT is left out where
OR-Tools is not installed; writing its model does not count.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import inf

import numpy as np
from scipy import sparse

import dcra

THREADS = 2


def random_graph(n: int, degree: float, rng: np.random.Generator) -> np.ndarray:
    return symmetric(rng.random((n, n)) < degree / (n - 1))


def geometric_graph(n: int, degree: float, rng: np.random.Generator) -> np.ndarray:
    """Points of the unit square, joined up to a distance that gives inner ones this many neighbours."""
    points = rng.random((n, 2))
    apart = np.sum((points[:, None] - points) ** 2, axis=-1)
    return symmetric(apart < degree / (np.pi * n))


def signed_graph(n: int, degree: float, rng: np.random.Generator) -> np.ndarray:
    return symmetric((rng.random((n, n)) < degree / (n - 1)) * rng.choice([-1, 1], (n, n)))


def symmetric(W: np.ndarray) -> np.ndarray:
    upper = np.triu(W, 1).astype(float)
    return upper + upper.T


GRAPHS = {
    "G(n, p), degree 4": lambda n, rng: random_graph(n, 4, rng),
    "G(n, p), degree 10": lambda n, rng: random_graph(n, 10, rng),
    "G(n, p), p = 1/2": lambda n, rng: random_graph(n, (n - 1) / 2, rng),
    "geometric, degree 6": lambda n, rng: geometric_graph(n, 6, rng),
    "geometric, degree 15": lambda n, rng: geometric_graph(n, 15, rng),
    "±1, p = 1/10": lambda n, rng: signed_graph(n, (n - 1) / 10, rng),
    "±1, complete": lambda n, rng: signed_graph(n, n - 1, rng),
}


def by_dcra(W: np.ndarray, seconds: float, seed: int) -> float:
    """The cut is (e'We - s'Ws) / 4."""
    Q = sparse.csc_array(-W / 4) if np.count_nonzero(W) < 0.2 * W.size else -W / 4
    problem = dcra.Problem(quadratic=Q, constant=W.sum() / 4, constraints=dcra.exactly(len(W) // 2))
    result = dcra.solve(problem, time_limit=seconds, seed=seed, n_jobs=THREADS)
    assert result.feasible
    return result.fun


def restarts(W: np.ndarray, seconds: float, first: int) -> float:
    import networkx as nx
    from networkx.algorithms.community import kernighan_lin_bisection

    graph, best, begin = nx.from_numpy_array(W), inf, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        left, right = kernighan_lin_bisection(graph, seed=first)
        best, first = min(best, nx.cut_size(graph, left, right, weight="weight")), first + THREADS
    return best


def by_kernighan_lin(W: np.ndarray, seconds: float, seed: int, pool: ProcessPoolExecutor) -> float:
    return min(pool.map(partial(restarts, W, seconds), range(10_000 * seed, 10_000 * seed + THREADS)))


def by_cpsat(W: np.ndarray, seconds: float, seed: int) -> float:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_bool_var("") for _ in W]
    model.add(sum(x) == len(W) // 2)
    model.add(x[0] == 0)  # the sides have no names
    model.minimize(sum(int(W[i, j]) * cut_edge(model, x[i], x[j], W[i, j]) for i, j in edges(W)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = THREADS
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = seconds
    found = solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return solver.objective_value if found else inf


def edges(W: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(*np.nonzero(np.triu(W)), strict=True))


def cut_edge(model, u, v, weight):
    """A variable that is 1 where an edge is cut, bounded from the side that its weight pushes to."""
    e = model.new_bool_var("")
    if weight > 0:
        model.add(e >= u - v)
        model.add(e >= v - u)
    else:
        model.add(e <= u + v)
        model.add(e <= 2 - u - v)
    return e


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="*", default=[1.0, 5.0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[60, 120, 250, 500])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    with ProcessPoolExecutor(THREADS) as pool:
        methods = {"auto": by_dcra, "Kernighan-Lin": partial(by_kernighan_lin, pool=pool)}
        if importlib.util.find_spec("ortools"):
            methods["CP-SAT"] = by_cpsat
        warm_up(methods)
        columns = [f"{name}, {seconds:g} s" for seconds in options.seconds for name in methods]
        print("| graph | n | " + " | ".join(columns) + " |")
        print("|---" * (2 + len(columns)) + "|")
        for name, make in GRAPHS.items():
            for n in options.sizes:
                W = make(n, np.random.default_rng(n))
                cells = [
                    cell for seconds in options.seconds for cell in row(methods, W, seconds, options.seeds)
                ]
                print(f"| {name} | {n} | " + " | ".join(cells) + " |", flush=True)


def warm_up(methods: dict) -> None:
    """Compiled loops are loaded and processes started before any clock runs."""
    for make in GRAPHS.values():
        W = make(60, np.random.default_rng(0))
        for solve in methods.values():
            solve(W, 0.1, 0)
        by_dcra(W, 5.0, 0)


def row(methods: dict, W: np.ndarray, seconds: float, seeds: int) -> list[str]:
    """Mean cuts, the least in bold."""
    means = [np.mean([solve(W, seconds, seed) for seed in range(seeds)]) for solve in methods.values()]
    texts = ["-" if mean == inf else f"{mean:.1f}" for mean in means]
    return [
        f"**{text}**" if mean <= min(means) + 1e-9 else text for mean, text in zip(means, texts, strict=True)
    ]


if __name__ == "__main__":
    main()
