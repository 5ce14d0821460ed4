"""QAPLIB: `n`, then two n x n matrices in any layout; solutions `n value`, then a permutation from 1.

The problem has n^2 variables in {0,1}: number n i + p says that facility i is at location p.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from dcra._array import Host
from dcra.io.coordinates import TextLine, lines_of, number, save_text, text_of, whole
from dcra.io.paths import require_file
from dcra.model.problem import Problem


def read(path: Path, b: Path | None = None) -> Problem:
    from dcra.apps.qap import qap_problem

    return qap_problem(*_matrices(text_of(path)))


def write(path: Path, problem: Problem) -> None:
    raise ValueError(f"{path}: write a QAPLIB file by dcra.io.qaplib.write_matrices(path, flow, distance)")


def read_matrices(path: str | Path) -> tuple[Host, Host]:
    """The two matrices of a .dat file; ValueError where it is missing or damaged, with its name."""
    file = require_file(Path(path))
    try:
        return _matrices(text_of(file))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{file}: {error}") from error


def _matrices(text: str) -> tuple[Host, Host]:
    lines = lines_of(text)
    if not lines:
        raise ValueError("the file is empty")
    n = whole(lines[0], 0, "the size")
    if n < 1:
        raise ValueError(f"line {lines[0].number}: the size must be at least 1; got {n}")
    if n > MOST:
        raise ValueError(
            f"line {lines[0].number}: two matrices of size {n} would take {16e-9 * n * n:.3g} GB"
        )
    numbers = _numbers(lines, skip=1)
    if len(numbers) != 2 * n * n:
        raise ValueError(
            f"line {lines[0].number} promises two matrices of size {n}, {2 * n * n} numbers; "
            f"the file has {len(numbers)}"
        )
    first, second = np.asarray(numbers).reshape(2, n, n)
    return first, second


def write_matrices(path: str | Path, flow: Host, distance: Host) -> None:
    """Write a .dat file."""
    blocks = [
        "\n".join(" ".join(map(number, row)) for row in np.asarray(M, float).tolist())
        for M in (flow, distance)
    ]
    save_text(Path(path), "\n\n".join([str(len(flow)), *blocks]) + "\n")


def read_solution(path: str | Path) -> tuple[float, Host]:
    """Value and permutation (0-based) of a .sln file."""
    lines = lines_of(text_of(Path(path)))
    if not lines:
        raise ValueError(f"{path}: the file is empty")
    numbers = _numbers(lines)
    n = int(numbers[0])
    order = np.asarray(numbers[2:], np.int64) - 1
    if sorted(order.tolist()) != list(range(n)):
        raise ValueError(f"{path}: after line {lines[0].number} a permutation of 1..{n} is expected")
    return numbers[1], order


def write_solution(path: str | Path, value: float, permutation: Host) -> None:
    """Write a .sln file; `permutation` is 0-based."""
    order = " ".join(str(int(p) + 1) for p in permutation)
    save_text(Path(path), f"{len(permutation)} {number(float(value))}\n{order}\n")


def _numbers(lines: list[TextLine], skip: int = 0) -> list[float]:
    values = []
    for k, line in enumerate(lines):
        for word in line.words[skip if k == 0 else 0 :]:
            try:
                value = float(word.rstrip(","))
            except ValueError:
                raise ValueError(f"line {line.number}: a number expected; got {word!r}") from None
            if not np.isfinite(value):
                raise ValueError(f"line {line.number}: numbers must be finite; got {word!r}")
            values.append(value)
    return values


MOST = 10_000
