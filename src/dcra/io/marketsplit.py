"""Market split files: `m n`, then m rows of n coefficients and the right-hand side; minimise |Ax - b|_1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dcra._array import to_numpy
from dcra.io.contents import refuse_other, save, text_of
from dcra.io.coordinates import head_of, lines_of, size
from dcra.io.numbers import number, real
from dcra.losses import L1
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.term import Term


def read(path: Path, b: Path | None = None) -> Problem:
    refuse_other(b)
    lines = lines_of(text_of(path))
    head = head_of(lines)
    m, n = size(head, 0, "the number of rows"), size(head, 1, "the number of variables")
    if m == 0 or n == 0:
        raise ValueError(f"line {head.number}: at least one row and one variable are needed; got {m} and {n}")
    table: list[list[float]] = []
    for line in lines:
        if len(line.words) != n + 1:
            raise ValueError(
                f"line {line.number}: {n} coefficients and a right-hand side expected; "
                f"got {len(line.words)} numbers"
            )
        try:
            table.append([real(word) for word in line.words])
        except ValueError:
            raise ValueError(f"line {line.number}: numbers expected") from None
        if not np.all(np.isfinite(table[-1])):
            raise ValueError(f"line {line.number}: the numbers must be finite")
    if len(table) != m:
        raise ValueError(f"line {head.number} promises {m} rows; the file has {len(table)}")
    data = np.asarray(table)
    return Problem([Term("l1", data[:, :n], data[:, n])], domain="binary")


def write(path: Path, problem: Problem) -> None:
    term = problem.terms[0] if len(problem.terms) == 1 else None
    plain = term is not None and isinstance(term.loss, L1) and term.weight == 1.0
    extra = problem.linear is not None or problem.quadratic is not None or problem.constant
    extra = extra or problem.constraints is not None
    if term is None or not plain or extra or problem.domain != "binary":
        raise ValueError(
            f"{path}: a market split file holds |Ax - b|_1 over {{0,1}} alone; write an .npz file"
        )
    operator = term.operator
    if isinstance(operator, MatrixFree):
        raise ValueError(f"{path}: `A` is an operator without a matrix and cannot be written to a file")
    A = operator.dense()
    table = np.column_stack([A, to_numpy(term.b)]).astype(np.float64)
    lines = [f"{A.shape[0]} {A.shape[1]}", *(" ".join(map(number, row)) for row in table.tolist())]
    save(path, ("\n".join(lines) + "\n").encode())
