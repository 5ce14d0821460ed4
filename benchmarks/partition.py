"""Balanced bisection of 500 nodes beside METIS, Kernighan-Lin, `anneal` and `tabu`, at equal CPU time.

    python benchmarks/partition.py [seconds] [--seeds 5] [--graphs 2]

Prints, for each kind of graph, the mean cut over graphs and seeds, and on how many of these runs a method has
a smaller cut than `auto`. Each has the same CPU seconds of one thread. METIS (by pymetis) and Kernighan-Lin
(NetworkX's) are restarted with new seeds until the time is up; halves of METIS that differ in size are
evened out by the moves that cost least, and the best of all restarts counts.
"""

from __future__ import annotations

import argparse
import time
from math import inf

import numpy as np
from bisection import geometric_graph, random_graph, symmetric
from scipy import sparse

import dcra

N = 500


def grid(rng: np.random.Generator) -> np.ndarray:
    """20 x 25; the best halves are cut along a line with one step, through 21 edges or fewer."""
    at = np.arange(N).reshape(20, 25)
    W = np.zeros((N, N))
    W[at[:-1].ravel(), at[1:].ravel()] = 1
    W[at[:, :-1].ravel(), at[:, 1:].ravel()] = 1
    return symmetric(W)


GRAPHS = {
    "grid 20 x 25": grid,
    "geometric, degree 6": lambda rng: geometric_graph(N, 6, rng),
    "geometric, degree 15": lambda rng: geometric_graph(N, 15, rng),
    "G(n, p), degree 4": lambda rng: random_graph(N, 4, rng),
    "G(n, p), degree 10": lambda rng: random_graph(N, 10, rng),
    "G(n, p), p = 1/2": lambda rng: random_graph(N, (N - 1) / 2, rng),
}


def by_dcra(W: np.ndarray, seconds: float, seed: int, method: str = "auto") -> float:
    Q = sparse.csc_array(-W / 4) if np.count_nonzero(W) < 0.2 * W.size else -W / 4
    problem = dcra.Problem(quadratic=Q, constant=W.sum() / 4, constraints=dcra.exactly(len(W) // 2))
    wall, time.perf_counter = time.perf_counter, time.process_time  # limits count CPU seconds
    try:
        result = dcra.solve(problem, method=method, time_limit=seconds, seed=seed, n_jobs=1)
    finally:
        time.perf_counter = wall
    return result.fun if result.feasible else inf


def by_metis(W: np.ndarray, seconds: float, seed: int) -> float:
    import pymetis

    neighbours = [np.flatnonzero(row).tolist() for row in W]
    begun, best, k = time.process_time(), inf, 1000 * seed
    while time.process_time() - begun < seconds:
        options = pymetis.Options(seed=k, ufactor=1, ncuts=1)
        _, parts = pymetis.part_graph(2, adjacency=neighbours, recursive=bool(k % 2), options=options)
        best, k = min(best, evened(W, np.asarray(parts))), k + 1
    return best


def evened(W: np.ndarray, side: np.ndarray) -> float:
    """The cut, after the cheapest moves that make the halves equal."""
    s = 2.0 * side - 1
    while s.sum() != 0:
        large = np.sign(s.sum())
        costs = np.where(s == large, W @ (s * large), inf)  # neighbours that stay, less those beyond
        s[np.argmin(costs)] *= -1
    return float((W.sum() - s @ W @ s) / 4)


def by_kernighan_lin(W: np.ndarray, seconds: float, seed: int) -> float:
    import networkx as nx
    from networkx.algorithms.community import kernighan_lin_bisection

    graph, best, begun, k = nx.from_numpy_array(W), inf, time.process_time(), 1000 * seed
    while time.process_time() - begun < seconds:
        left, right = kernighan_lin_bisection(graph, seed=k)
        best, k = min(best, nx.cut_size(graph, left, right)), k + 1
    return best


METHODS = {
    "auto": by_dcra,
    "METIS": by_metis,
    "Kernighan-Lin": by_kernighan_lin,
    "anneal": lambda *run: by_dcra(*run, method="anneal"),
    "tabu": lambda *run: by_dcra(*run, method="tabu"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=2.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--graphs", type=int, default=2)
    options = parser.parse_args()
    for solve in METHODS.values():
        solve(geometric_graph(60, 6, np.random.default_rng(0)), 0.1, 0)
    print("| graph | " + " | ".join(METHODS) + " |")
    print("|---" * (1 + len(METHODS)) + "|")
    for kind, make in GRAPHS.items():
        cuts = []
        for k in range(1 if make is grid else options.graphs):
            W = make(np.random.default_rng(N + k))
            runs = range(options.seeds)
            cuts += [[solve(W, options.seconds, seed) for solve in METHODS.values()] for seed in runs]
        cuts = np.array(cuts)
        better = np.sum(cuts < cuts[:, :1] - 1e-9, axis=0)
        cells = [f"{mean:.1f} ({count})" for mean, count in zip(cuts.mean(axis=0), better, strict=True)]
        print(f"| {kind} | {cells[0].split()[0]} | " + " | ".join(cells[1:]) + " |", flush=True)


if __name__ == "__main__":
    main()
