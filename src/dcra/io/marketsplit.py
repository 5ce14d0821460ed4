"""Market split files: `m n`, then m rows of n integer coefficients and a right-hand side; # begins a comment.

The problem is to find x in {0,1}^n with Ax = b, here as min |Ax - b|_1.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dcra.problem import Problem, Term


def read(path: Path, b: Path | None = None) -> Problem:
    if b is not None:
        raise ValueError("a market split file holds its own `b`; no other file is needed")
    lines = [
        (number, line)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ValueError("the file is empty")
    m, n = _sizes(*lines[0])
    rows = [_row(number, line, n) for number, line in lines[1:]]
    if len(rows) != m:
        raise ValueError(f"line {lines[0][0]} announces {m} rows; found {len(rows)}")
    table = np.asarray(rows, np.float64)
    return Problem([Term("l1", table[:, :n], table[:, n])], domain="binary")


def _sizes(number: int, line: str) -> tuple[int, int]:
    words = line.split()
    if len(words) != 2 or not all(word.isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"line {number} must hold the numbers of rows and variables; got {line.strip()!r}")
    return int(words[0]), int(words[1])


def _row(number: int, line: str, n: int) -> list[int]:
    try:
        row = [int(word) for word in line.split()]
    except ValueError:
        raise ValueError(f"line {number} must hold integers; got {line.strip()!r}") from None
    if len(row) != n + 1:
        raise ValueError(
            f"line {number} must hold {n} coefficients and a right-hand side; got {len(row)} numbers"
        )
    return row
