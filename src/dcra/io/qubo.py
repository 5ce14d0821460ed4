"""QUBO files in three dialects, all for x in {0,1}^n: value = sum q_ii x_i + sum q_ij x_i x_j.

sparse   Biq Mac: `n m`, then `i j q` from 1, each off-diagonal q standing in (i, j) and in (j, i)
qubo     `p qubo 0 nodes diagonals couplers`, then `i i q` and `i j q` from 0, each pair standing for itself
coo      `i j q` from 0, each pair for itself; `# vartype=SPIN` makes it {-1,1} with fields on the diagonal
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.io.contents import refuse_other, save, text_of
from dcra.io.coordinates import (
    Entries,
    TextLine,
    check_size,
    entry_lines,
    head_of,
    lines_of,
    read_entries,
    refuse_repeats,
    require_count,
    shortened,
    size,
)
from dcra.model.problem import Problem


def read(path: Path, b: Path | None = None, dialect: str = "qubo") -> Problem:
    refuse_other(b)
    return parse(text_of(path), dialect)


def parse(text: str, dialect: str) -> Problem:
    entries = READERS[dialect](text)
    refuse_repeats(entries)
    vartype = re.search(r"^#\s*vartype=(\w+)", text, re.M)
    spin = dialect == "coo" and vartype is not None and vartype[1].upper() == "SPIN"
    return quadratic_problem(entries, twice=dialect == "sparse", domain="spin" if spin else "binary")


def quadratic_problem(entries: Entries, twice: bool, domain: str) -> Problem:
    """The problem of some coefficients; `twice`: each pair counts as (i, j) and as (j, i)."""
    with importing():
        from scipy import sparse

    own = entries.row == entries.col
    linear = np.bincount(entries.row[own], entries.value[own], entries.n)
    value = entries.value[~own] * (1.0 if twice else 0.5)
    row, col = entries.row[~own], entries.col[~own]
    where = (np.concatenate([row, col]), np.concatenate([col, row]))
    Q = sparse.coo_array((np.concatenate([value, value]), where), shape=(entries.n, entries.n))
    return Problem(linear=linear if own.any() else None, quadratic=Q.tocsc(), domain=domain)


def _sparse_entries(text: str) -> Entries:
    head = head_of(lines_of(text))
    n, m = size(head, 0, "the number of variables"), size(head, 1, "the number of entries")
    _require_variables(n, head)
    entries = read_entries(text, head, n, base=1, promised=(m, "entries"))
    check_size(entries, "the number of variables", head.number, len(text))
    return entries


def _qubo_entries(text: str) -> Entries:
    head = head_of(lines_of(text))
    if head.words[:2] != ["p", "qubo"]:
        raise ValueError(f"line {head.number}: `p qubo 0 nodes diagonals couplers` expected")
    if len(head.words) != 6:
        raise ValueError(
            f"line {head.number}: four numbers expected after `p qubo`; got {shortened(head.words[2:])}"
        )
    n, own, pairs = (size(head, i, what) for i, what in ((3, "nodes"), (4, "diagonals"), (5, "couplers")))
    _require_variables(n, head)
    entries = read_entries(text, head, n, base=0)
    found = int(np.count_nonzero(entries.row == entries.col))
    require_count(found, own, "diagonal entries", head.number)
    require_count(entries.value.size - found, pairs, "couplers", head.number)
    check_size(entries, "the number of nodes", head.number, len(text))
    return entries


def _coo_entries(text: str) -> Entries:
    entries = read_entries(text, None, None, base=0, comments="#")
    if not entries.value.size:
        raise ValueError("the file is empty")
    last = int(np.argmax(np.maximum(entries.row, entries.col)))
    check_size(entries, "the largest index, and one,", int(entries.line[last]), len(text))
    return entries


READERS = {"sparse": _sparse_entries, "qubo": _qubo_entries, "coo": _coo_entries}


def _require_variables(n: int, head: TextLine) -> None:
    if n == 0:
        raise ValueError(f"line {head.number}: a problem needs at least one variable")


def write(path: Path, problem: Problem, dialect: str = "qubo") -> None:
    row, col, value = coefficients(path, problem, spin=dialect == "coo")
    own = row == col
    if dialect == "sparse":
        value = np.where(own, value, 0.5 * value)
        head = [f"{problem.n} {value.size}"]
    elif dialect == "qubo":
        head = [f"p qubo 0 {problem.n} {np.count_nonzero(own)} {np.count_nonzero(~own)}"]
    else:
        head = [f"# vartype={'SPIN' if problem.domain == 'spin' else 'BINARY'}"]
        if not (np.maximum(row, col) == problem.n - 1).any():  # the file has no other place for n
            row, col, value = (np.append(part, last) for part, last in _last(row, col, value, problem.n))
    lines = [*head, *entry_lines(row, col, value, base=1 if dialect == "sparse" else 0)]
    save(path, ("\n".join(lines) + "\n").encode())


def coefficients(path: Path, problem: Problem, spin: bool = False) -> tuple[Host, Host, Host]:
    """(i, j, q) with i <= j, each pair standing for itself; errors where the problem is more than that."""
    with importing():
        from scipy import sparse

    quadratic = problem.quadratic
    if problem.constraints is not None:
        raise ValueError(f"{path}: a QUBO file holds no constraints; write an .npz file instead")
    if problem.terms or (quadratic is not None and quadratic.matrix_free):
        raise ValueError(f"{path}: a QUBO file holds x'Qx + c'x alone; write an .npz file instead")
    if problem.domain == "spin" and not spin:
        raise ValueError(
            f"{path}: a QUBO file is about {{0,1}}; write a .coo file, or one of the problem in that domain"
        )
    constant = problem.constant
    own = np.zeros(problem.n) if problem.linear is None else np.asarray(problem.linear, np.float64)
    pairs = sparse.coo_array((problem.n, problem.n))
    if quadratic is not None:
        pairs = sparse.coo_array(sparse.triu(sparse.coo_array(quadratic.off_diagonal.A), 1))
        if problem.domain == "spin":
            constant += float(np.sum(quadratic.diagonal))
        else:
            own = own + quadratic.diagonal
    if constant:
        raise ValueError(f"{path}: a QUBO file has no constant; got {constant:g}. Write an .npz file instead")
    diagonal = np.flatnonzero(own)
    row, col = (np.concatenate([diagonal, part]) for part in pairs.coords)
    return row, col, np.concatenate([own[diagonal], 2.0 * pairs.data])


def _last(row: Host, col: Host, value: Host, n: int) -> list[tuple[Host, float]]:
    """An entry of value 0 that says how many variables there are."""
    return [(row, n - 1), (col, n - 1), (value, 0.0)]
