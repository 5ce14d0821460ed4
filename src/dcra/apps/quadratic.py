"""Max-Cut, QUBO and Ising models: the forms they come in, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dcra._array import Host, to_numpy
from dcra.messages import shown
from dcra.model.checks import refuse_masked
from dcra.model.problem import Problem
from dcra.named import load
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
        (i, j, weight) over nodes 0, 1, ...; a networkx graph's are weighted by its attribute "weight".
    **options
        Of `dcra.solve`.

    Examples
    --------
    >>> from dcra.apps.quadratic import maxcut
    >>> maxcut([(0, 1), (1, 2), (2, 0)], seed=0).weight
    2.0
    """
    from dcra.api import solve

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
        In a dict, indices or labels of any kind; with labels, `Result.values` has the answer by them.
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

    if _is_model(Q):
        return solve(_of_model(Q, "BINARY", linear, constant), **options)
    labels, (Q, linear) = _indexed(Q, linear, "Q", "linear")
    if isinstance(linear, dict):
        Q = _from_dict(Q, 1 + max(linear, default=-1))
        linear = np.asarray([linear.get(i, 0.0) for i in range(Q.shape[0])], np.float64)
    problem = Problem(quadratic=_from_dict(Q), linear=linear, constant=constant, domain="binary")
    problem.variable_names = labels
    return solve(problem, **options)


def ising(h: Any, J: Any = None, *, constant: float = 0.0, **options: Any) -> Result:
    """Minimise h's + s'Js + constant over s in {-1,1}^n.

    Parameters
    ----------
    h : (n,) array, {i: field} or None
        A dimod.BinaryQuadraticModel may stand for h and J.
    J : (n, n) array or matrix, or {(i, j): coupling}
        Every entry of a matrix counts, every pair of a dict once. Keys may be labels of any kind, and
        `Result.values` has the answer by them.
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

    if _is_model(h):
        return solve(_of_model(h, "SPIN", J, constant), **options)
    if J is None:
        raise TypeError("`J` must be a matrix or a dict {(i, j): coupling}; got None")
    labels, (J, h) = _indexed(J, h, "J", "h")
    matrix = _from_dict(J, 0 if not isinstance(h, dict) else 1 + max(h, default=-1))
    if isinstance(h, dict):
        h = np.asarray([h.get(i, 0.0) for i in range(np.shape(matrix)[0])], np.float64)
    problem = Problem(quadratic=matrix, linear=h, constant=constant)
    problem.variable_names = labels
    return solve(problem, **options)


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
    if problem.linear is not None and np.any(to_numpy(problem.linear)):
        return None
    upper = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
    weight = 4.0 * upper.data
    constant = problem.constant + float(np.sum(quadratic.diagonal))
    half = 0.5 * float(np.sum(weight))
    if abs(constant + half) > 1e-9 * max(1.0, float(np.sum(np.abs(weight)))):
        return None
    row, col = upper.coords
    return row, col, weight


def edge_list(graph: Any) -> tuple[list[Any], Host, Host, Host]:
    """Nodes, and edges (row, col, weight) between their places, of a graph in any of its forms."""
    refuse_masked("graph", graph)
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _networkx_edges(graph)
    if hasattr(graph, "tocoo") or (isinstance(graph, np.ndarray) and graph.ndim == 2 and _square(graph)):
        return _matrix_edges(graph)
    return _listed_edges(graph)


def _networkx_edges(graph: Any) -> tuple[list[Any], Host, Host, Host]:
    if graph.is_directed():
        raise ValueError("`graph` must be undirected; got a directed one (use graph.to_undirected())")
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    edges = [(place[u], place[v], data.get("weight", 1.0)) for u, v, data in graph.edges(data=True)]
    return nodes, *_checked(len(nodes), edges)


def _matrix_edges(graph: Any) -> tuple[list[Any], Host, Host, Host]:
    A = sparse.coo_array(graph)
    n = A.shape[0]
    if A.shape != (n, n):
        raise ValueError(f"`graph` must be a square matrix; got shape {A.shape}")
    lower, upper = sparse.tril(A, -1), sparse.triu(A, 1)
    if lower.nnz and upper.nnz and abs(lower.T - upper).max() > 0:
        raise ValueError("`graph` must be symmetric, or have one empty triangle; its two triangles differ")
    if np.any(A.diagonal()):
        raise ValueError("`graph` must have no edge from a node to itself; its diagonal is not zero")
    kept = sparse.coo_array(upper if upper.nnz else lower)
    row, col = kept.coords
    return list(range(n)), *_checked(n, list(zip(row, col, kept.data, strict=True)))


def _listed_edges(graph: Any) -> tuple[list[Any], Host, Host, Host]:
    try:
        edges = [(int(e[0]), int(e[1]), float(e[2]) if len(e) > 2 else 1.0) for e in graph]
    except (TypeError, ValueError, IndexError) as error:
        raise TypeError(
            f"`graph` must be a networkx graph, a matrix, or edges (i, j[, weight]); got {shown(graph)}"
        ) from error
    if not edges:
        raise ValueError("`graph` must have at least one edge")
    n = 1 + max(max(i, j) for i, j, _ in edges)
    return list(range(n)), *_checked(n, edges)


def _checked(n: int, edges: list[tuple[Any, Any, Any]]) -> tuple[Host, Host, Host]:
    if n == 0:
        raise ValueError("`graph` must have at least one node")
    table = np.asarray([(i, j) for i, j, _ in edges], np.int64).reshape(-1, 2)
    weight = np.asarray([w for _, _, w in edges], np.float64)
    if np.any(table < 0):
        raise ValueError(f"`graph` must have nodes 0, 1, ...; got {int(table.min())}")
    if np.any(table[:, 0] == table[:, 1]):
        loop = int(table[table[:, 0] == table[:, 1]][0, 0])
        raise ValueError(f"`graph` must have no edge from a node to itself; node {loop} has one")
    if not np.all(np.isfinite(weight)):
        raise ValueError("`graph` must have finite weights")
    pairs = np.sort(table, axis=1)
    if len(np.unique(pairs, axis=0)) < len(pairs):
        raise ValueError("`graph` must have each edge once; some come twice")
    return table[:, 0], table[:, 1], weight


def _is_model(Q: Any) -> bool:
    """Whether it is a binary quadratic model of dimod."""
    return hasattr(Q, "vartype") and hasattr(Q, "to_numpy_vectors")


def _of_model(bqm: Any, vartype: str, other: Any, constant: float) -> Problem:
    if other is not None or constant:
        raise TypeError("a binary quadratic model has its own linear part and offset; give it alone")
    model = bqm.change_vartype(vartype, inplace=False)
    problem: Problem = load("dcra.interop.dimod:problem_of")(model)
    problem.variable_names = tuple(model.variables)
    return problem


def _indexed(Q: Any, h: Any, quadratic: str, linear: str) -> tuple[tuple[Any, ...], tuple[Any, Any]]:
    """Labels in the order they come, and both dicts over their places; no labels where all are indices."""
    _check_entries(quadratic, Q, pairs=True)
    _check_entries(linear, h, pairs=False)
    if isinstance(Q, dict) and h is not None and not isinstance(h, dict) and not _all_indices(_keys(Q)):
        raise TypeError(f"`{linear}` must be a dict of labels, as `{quadratic}` is; got {shown(h)}")
    if not isinstance(Q, dict) or not isinstance(h, dict | type(None)):
        return (), (Q, h)
    keys = [*(h or {}), *_keys(Q)]
    if _all_indices(keys):
        return (), (Q, h)
    labels = tuple(dict.fromkeys(keys))
    place = {label: i for i, label in enumerate(labels)}
    pairs: dict[tuple[int, int], float] = {}
    for (u, v), value in Q.items():
        pairs[place[u], place[v]] = pairs.get((place[u], place[v]), 0.0) + value
    pairs.setdefault((len(labels) - 1, len(labels) - 1), 0.0)
    return labels, (pairs, None if h is None else {place[v]: value for v, value in h.items()})


def _keys(Q: dict[Any, Any]) -> list[Any]:
    return [key for pair in Q for key in pair]


def _all_indices(keys: list[Any]) -> bool:
    return all(isinstance(key, int | np.integer) and key >= 0 for key in keys)


def _check_entries(name: str, entries: Any, pairs: bool) -> None:
    """Refuse a dict whose keys are not pairs, where they should be, or whose values are no numbers."""
    for key, value in entries.items() if isinstance(entries, dict) else ():
        if pairs and not (isinstance(key, tuple) and len(key) == 2):
            raise TypeError(f"`{name}` must have pairs (i, j) for keys; got {key!r}")
        try:
            float(value if not isinstance(value, str) else "no number")
        except (TypeError, ValueError) as error:
            raise TypeError(f"`{name}` must hold real numbers; {key!r} has {value!r}") from error


def _from_dict(Q: Any, least: int = 0) -> Any:
    """A matrix from {(i, j): value}, each key counting once; anything else as it is."""
    if not isinstance(Q, dict):
        return Q
    if not Q and not least:
        raise ValueError("`Q` must hold at least one entry; got an empty dict")
    n = max(least, 1 + max((max(pair) for pair in Q), default=-1))
    row, col = (np.asarray([pair[k] for pair in Q], np.int64) for k in (0, 1))
    return sparse.coo_array((np.asarray(list(Q.values()), np.float64), (row, col)), shape=(n, n)).tocsc()


def _square(A: Host) -> bool:
    """Whether an array is a matrix rather than a list of edges; three nodes are taken for a matrix."""
    return bool(A.shape[0] == A.shape[1])
