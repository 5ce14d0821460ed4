"""Graphs in the forms that users have them in, made into weighted edges."""

from __future__ import annotations

from collections.abc import Mapping, Set
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from dcra._array import Host, is_array, to_numpy
from dcra.apps._couplings import count_positions, is_number
from dcra.messages import shown
from dcra.model.checks import refuse_masked

Edges = tuple[list[Any], Host, Host, Host]

LABELS = "networkx.Graph(edges) takes labels of any kind, with weights by its add_weighted_edges_from"


def edge_list(graph: Any) -> Edges:
    """Nodes, and edges (row, col, weight) between their places, of a graph in any of its forms."""
    refuse_masked("graph", graph)
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _networkx_edges(graph)
    if hasattr(graph, "tocoo"):
        return _matrix_edges(graph)
    graph = to_numpy(graph) if is_array(graph) else graph
    read = _matrix_edges if isinstance(graph, np.ndarray) and _is_square(graph) else _listed_edges
    try:
        return read(graph)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}{_other_reading(graph)}") from error


def _networkx_edges(graph: Any) -> Edges:
    if graph.is_directed():
        raise ValueError("`graph` must be undirected; got a directed one (use graph.to_undirected())")
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    weighted = graph.edges(data="weight", default=1.0)
    edges = [(place[u], place[v], _weight(u, v, weight)) for u, v, weight in weighted]
    return nodes, *_checked(nodes, edges)


def _matrix_edges(graph: Any) -> Edges:
    if graph.dtype.kind not in "fiub":
        raise TypeError(f"`graph` must hold real numbers; got dtype {graph.dtype}")
    entries = sparse.coo_array(graph, dtype=np.float64)
    n = entries.shape[0]
    if entries.shape != (n, n):
        raise ValueError(f"`graph` must be a square matrix; got shape {entries.shape}")
    A = entries.tocsr()  # which sums repeated entries, and is a copy
    A.eliminate_zeros()
    lower, upper = sparse.tril(A, -1), sparse.triu(A, 1)
    if lower.nnz and upper.nnz and abs(lower.T - upper).max() > 0:
        raise ValueError("`graph` must be symmetric, or have one empty triangle; its two triangles differ")
    if np.any(A.diagonal()):
        raise ValueError("`graph` must have no edge from a node to itself; its diagonal is not zero")
    kept = sparse.coo_array(upper if upper.nnz else lower)
    row, col = kept.coords
    nodes = list(range(n))
    return nodes, *_checked(nodes, list(zip(row, col, kept.data, strict=True)))


def _listed_edges(graph: Any) -> Edges:
    listed = graph.tolist() if isinstance(graph, np.ndarray) else graph
    pairs = isinstance(listed, Mapping) and not isinstance(listed, Set)  # networkx's edges are both
    if isinstance(listed, str) or pairs or not hasattr(listed, "__iter__"):
        raise TypeError(
            f"`graph` must be a networkx graph, a matrix, or edges (i, j[, weight]); got {shown(graph)}"
        )
    edges = [_edge(edge) for edge in listed]
    if not edges:
        raise ValueError("`graph` must have at least one edge")
    used = [node for i, j, _ in edges for node in (i, j)]
    if min(used) < 0:
        raise ValueError(f"`graph` must have nodes 0, 1, ...; got {min(used)}")
    nodes = list(range(count_positions("`graph`", used, LABELS)))
    return nodes, *_checked(nodes, edges)


def _edge(edge: Any) -> tuple[int, int, float]:
    try:
        i, j, weight = edge if len(edge) == 3 else (*edge, 1.0)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`graph` must have edges (i, j) or (i, j, weight); got {shown(edge)}") from error
    for node in (i, j):
        whole = isinstance(node, Integral) or (isinstance(node, Real) and float(node).is_integer())
        if not whole:
            raise TypeError(f"`graph` must have whole numbers 0, 1, ... for nodes; got {node!r}. {LABELS}")
    return int(i), int(j), _weight(i, j, weight)


def _weight(u: Any, v: Any, weight: Any) -> float:
    if not is_number(weight):
        raise TypeError(f"`graph` must have numbers for weights; edge ({u!r}, {v!r}) has {weight!r}")
    return float(weight)


def _checked(nodes: list[Any], edges: list[tuple[Any, Any, Any]]) -> tuple[Host, Host, Host]:
    if not nodes:
        raise ValueError("`graph` must have at least one node")
    table = np.asarray([(i, j) for i, j, _ in edges], np.int64).reshape(-1, 2)
    weight = np.asarray([w for _, _, w in edges], np.float64)
    loops = np.flatnonzero(table[:, 0] == table[:, 1])
    if loops.size:
        raise ValueError(
            f"`graph` must have no edge from a node to itself; node {nodes[table[loops[0], 0]]!r} has one"
        )
    if not np.all(np.isfinite(weight)):
        raise ValueError("`graph` must have finite weights")
    pairs, count = np.unique(np.sort(table, axis=1), axis=0, return_counts=True)
    if np.any(count > 1):
        u, v = (nodes[k] for k in pairs[np.argmax(count)])
        raise ValueError(f"`graph` must have each edge once; ({u!r}, {v!r}) comes {count.max()} times")
    return table[:, 0], table[:, 1], weight


def _is_square(rows: Any) -> bool:
    """Whether it is an array, or a list of lists, of as many rows as columns."""
    if isinstance(rows, np.ndarray):
        return rows.ndim == 2 and rows.shape[0] == rows.shape[1]
    return all(isinstance(row, list) and len(row) == len(rows) for row in rows)


def _other_reading(graph: Any) -> str:
    """How a graph was read whose shape leaves room for doubt, and how to have it read otherwise."""
    if isinstance(graph, np.ndarray):
        if graph.ndim == 2 and not _is_square(graph):
            return f"; an array of shape {graph.shape} is read as edges, a matrix must be square"
        few = graph.ndim == 2 and len(graph) in (2, 3)
        return "; a square array is read as a matrix, for edges give graph.tolist()" if few else ""
    doubtful = isinstance(graph, list | tuple) and graph and _is_square(graph)
    return "; a list is read as edges, for a matrix give numpy.array(graph)" if doubtful else ""
