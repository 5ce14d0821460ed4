"""Max-Cut, QUBO and Ising models: what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dcra._array import Host, to_numpy
from dcra.apps._couplings import check_options, is_model, problem_of, problem_of_model
from dcra.apps._graphs import edge_list
from dcra.model.problem import Problem
from dcra.result import Result

__all__ = ["Cut", "cut_problem", "edge_list", "edges_of_cut", "ising", "maxcut", "qubo"]


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut of a graph.

    Attributes
    ----------
    weight : float
        Weight of the edges between the two sides.
    upper_bound : float
        No cut weighs more; inf if none is known.
    sides : tuple of two lists
        The nodes of either side, by their names in the graph.
    result : Result
        What `dcra.solve` gave: spins in the order of the nodes, objective -weight.
    """

    weight: float
    upper_bound: float
    sides: tuple[list[Any], list[Any]]
    result: Result

    def __str__(self) -> str:
        known = f"{self.upper_bound:.10g}" if np.isfinite(self.upper_bound) else "none"
        return f"cut {self.weight:.10g}, upper bound {known}, {self.result.seconds:.3g} s"


def maxcut(graph: Any, **options: Any) -> Cut:
    """The heaviest cut of a graph.

    Parameters
    ----------
    graph : networkx graph, (n, n) matrix, scipy.sparse matrix, or sequence of edges
        Of a matrix, entries (i, j) and (j, i) must agree, or one triangle be zero. Edges are (i, j) or
        (i, j, weight) over nodes 0, 1, ...; those up to the largest that have no edge are nodes, too. A
        networkx graph has nodes of any kind, and its edges are weighted by its attribute "weight". A square
        array is a matrix; lists, and arrays of another shape, are edges.
    **options
        Of `dcra.solve`.

    Examples
    --------
    >>> from dcra.apps.quadratic import maxcut
    >>> maxcut([(0, 1), (1, 2), (2, 0)], seed=0).weight
    2.0
    """
    from dcra.api import solve

    check_options(options, "quadratic=matrix_of_graph")
    nodes, row, col, weight = edge_list(graph)
    result = solve(cut_problem(len(nodes), row, col, weight), **options)
    up = to_numpy(result.x) > 0
    sides = ([nodes[i] for i in np.flatnonzero(up)], [nodes[i] for i in np.flatnonzero(~up)])
    return Cut(0.0 - result.fun, 0.0 - result.lower_bound, sides, result)  # no -0


def qubo(Q: Any, linear: Any = None, *, constant: float = 0.0, **options: Any) -> Result:
    """Minimise x'Qx + c'x + constant over x in {0,1}^n.

    Parameters
    ----------
    Q : (n, n) array or matrix, {(i, j): value} or dimod.BinaryQuadraticModel
        Keys of a dict that are all whole numbers from 0 on are positions, and those that are missing are
        variables, too. Otherwise they are labels, and `Result.values` has the answer by them.
    linear : (n,) array or {i: value}, optional
        c.
    constant : float
    **options
        Of `dcra.solve`.

    Returns
    -------
    Result

    Examples
    --------
    >>> from dcra.apps import qubo
    >>> result = qubo({("a", "a"): -1.0, ("b", "b"): -1.0, ("a", "b"): 2.0, ("c", "c"): -3.0}, seed=0)
    >>> result.fun, result.status.value
    (-4.0, 'optimal')
    """
    from dcra.api import solve

    check_options(options, "quadratic=Q, linear=linear, domain='binary'")
    if is_model(Q):
        return solve(problem_of_model(Q, "BINARY", linear, constant), **options)
    return solve(problem_of(Q, linear, constant, "binary", ("Q", "linear")), **options)


def ising(h: Any, J: Any = None, *, constant: float = 0.0, **options: Any) -> Result:
    """Minimise h's + s'Js + constant over s in {-1,1}^n.

    Parameters
    ----------
    h : (n,) array, {i: field} or None
        A dimod.BinaryQuadraticModel may stand for h and J.
    J : (n, n) array or matrix, or {(i, j): coupling}
        Every entry of a matrix counts, every pair of a dict once. Keys are positions or labels, as in `qubo`.
    constant : float
    **options
        Of `dcra.solve`.

    Returns
    -------
    Result

    Examples
    --------
    >>> from dcra.apps import ising
    >>> result = ising({0: 0.5}, {(0, 1): 1.0, (1, 2): 1.0}, seed=0)
    >>> result.x, result.fun
    (array([-1.,  1., -1.]), -2.5)
    """
    from dcra.api import solve

    check_options(options, "quadratic=J, linear=h")
    if is_model(h):
        return solve(problem_of_model(h, "SPIN", J, constant), **options)
    return solve(problem_of(J, h, constant, "spin", ("J", "h")), **options)


def cut_problem(n: int, row: Host, col: Host, weight: Host) -> Problem:
    """Max-Cut as a problem over spins: F = sum over edges of w (s_i s_j - 1)/2, minus the cut."""
    quarter = 0.25 * np.asarray(weight, np.float64)
    where = (np.concatenate([row, col]), np.concatenate([col, row]))
    Q = sparse.coo_array((np.concatenate([quarter, quarter]), where), shape=(n, n)).tocsc()
    return Problem(quadratic=Q, constant=-0.5 * float(np.sum(weight)))


def edges_of_cut(problem: Problem) -> tuple[Host, Host, Host] | None:
    """The weighted edges of a problem that is a Max-Cut problem; None where it is not."""
    quadratic = problem.quadratic
    if quadratic is None or problem.terms or problem.domain != "spin" or quadratic.matrix_free:
        return None
    if problem.constraints is not None:
        return None
    if problem.linear is not None and np.any(to_numpy(problem.linear)):
        return None
    upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
    weight = 4.0 * upper.data
    constant = problem.constant + float(np.sum(quadratic.diagonal))
    half = 0.5 * float(np.sum(weight))
    if abs(constant + half) > 1e-9 * float(np.sum(np.abs(weight))):
        return None
    row, col = upper.coords
    return row, col, weight
