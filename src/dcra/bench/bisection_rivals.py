"""Bisections by Kernighan and Lin and by METIS, run again with new seeds until the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.bench.base import Skip
from dcra.bench.quadratic_exact import over_bits
from dcra.bench.quadratic_rivals import Allowance, QuadraticAnswer
from dcra.bench.solving import thinned
from dcra.model.problem import Problem


def restarted(
    problem: Problem, allowed: Allowance, once: Callable[[int], Host]
) -> Callable[[], QuadraticAnswer]:
    """The best of the runs that begin in time; the last may end late."""
    once(0)

    def answer() -> QuadraticAnswer:
        begin, seed = time.perf_counter(), 10_000 * allowed.seed
        best, least, history = np.zeros(0), inf, []
        while least == inf or time.perf_counter() - begin < allowed.seconds:
            s, seed = once(seed), seed + 1
            if (cut := float(problem.objective(s))) < least:
                best, least = s, cut
                history.append((time.perf_counter() - begin, cut))
        return QuadraticAnswer(best, thinned(history))

    return answer


def weights(problem: Problem) -> Any:
    """The graph of a cut problem, edges above the diagonal."""
    from scipy import sparse

    _, row, col, value = over_bits(problem)
    return sparse.coo_array((-value / 2, (row, col)), shape=(problem.n, problem.n))


def kernighan_lin(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """NetworkX's."""
    try:
        import networkx as nx
        from networkx.algorithms.community import kernighan_lin_bisection
    except ImportError:
        raise Skip("networkx is not installed") from None
    graph = nx.from_scipy_sparse_array(weights(problem))

    def once(seed: int) -> Host:
        s = -np.ones(problem.n)
        s[list(kernighan_lin_bisection(graph, seed=seed)[0])] = 1
        return s

    return restarted(problem, allowed, once)


def metis(problem: Problem, allowed: Allowance) -> Callable[[], QuadraticAnswer]:
    """METIS by pymetis, k-way and recursive in turn; halves that differ in size are evened out."""
    try:
        import pymetis
    except ImportError:
        raise Skip("pymetis is not installed") from None
    upper = weights(problem)
    if (upper.data != 1).any():
        raise Skip("METIS is given edges of weight 1 alone")
    W = (upper + upper.T).tocsr()
    W.sort_indices()
    neighbours = [row.tolist() for row in np.split(W.indices, W.indptr[1:-1])]

    def once(seed: int) -> Host:
        options = pymetis.Options(seed=seed, ufactor=1, ncuts=1)
        _, parts = pymetis.part_graph(2, adjacency=neighbours, recursive=bool(seed % 2), options=options)
        return evened(W, 2.0 * np.asarray(parts) - 1)

    return restarted(problem, allowed, once)


def evened(W: Any, s: Host) -> Host:
    """The halves after the moves that cost least and make them equal."""
    while s.sum() != 0:
        large = np.sign(s.sum())
        costs = np.where(s == large, W @ (s * large), inf)  # neighbours that stay, less those beyond
        s[np.argmin(costs)] *= -1
    return s
