"""Max-Cut graphs as rudy writes them (G-set, Biq Mac): `n m`, then m lines `i j weight`, nodes from 1.

The problem has one spin per node, and its objective is minus the weight of the cut.
"""

from __future__ import annotations

from pathlib import Path

from dcra.apps.quadratic import cut_problem, edges_of_cut
from dcra.io.contents import refuse_other, save, text_of
from dcra.io.coordinates import (
    check_size,
    entry_lines,
    head_of,
    lines_of,
    read_entries,
    refuse_repeats,
    shortened,
    size,
)
from dcra.model.problem import Problem


def read(path: Path, b: Path | None = None) -> Problem:
    refuse_other(b)
    return parse(text_of(path))


def parse(text: str) -> Problem:
    lines = lines_of(text)
    head = head_of(lines)
    n, m = size(head, 0, "the number of nodes"), size(head, 1, "the number of edges")
    if n < 2 and next(lines, None) is not None:
        raise ValueError(
            f"line {head.number} must be `n m`, the numbers of nodes and edges, and nodes count from 1; got "
            f"{shortened(head.words)}. This looks like an edge list without a header"
        )
    if n == 0:
        raise ValueError(f"line {head.number}: a graph needs at least one node")
    edges = read_entries(text, head, n, base=1, default=1.0, promised=(m, "edges"))
    check_size(edges, "the number of nodes", head.number, len(text))
    loops = edges.line[edges.row == edges.col]
    if loops.size:
        raise ValueError(
            f"line {loops[0]}: an edge from a node to itself; a QUBO is read with format='sparse'"
        )
    refuse_repeats(edges)
    return cut_problem(n, edges.row, edges.col, edges.value)


def write(path: Path, problem: Problem) -> None:
    if problem.constraints is not None:
        raise ValueError(f"{path}: a rudy file holds no constraints; write an .npz file instead")
    edges = edges_of_cut(problem)
    if edges is None:
        raise ValueError(
            f"{path}: a rudy file holds a Max-Cut problem alone; write a .coo, .qubo or .npz file instead"
        )
    row, col, weight = edges
    lines = [f"{problem.n} {len(weight)}", *entry_lines(row, col, weight, base=1)]
    save(path, ("\n".join(lines) + "\n").encode())
