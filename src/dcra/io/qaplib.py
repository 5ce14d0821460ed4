"""QAPLIB: `n`, then two n x n matrices in any layout; solutions `n value`, then a permutation from 1.

The problem has n^2 variables in {0,1}: number n i + p says that facility i is at location p.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import numpy as np

from dcra._array import Host
from dcra.io.contents import refuse_other, save, text_of
from dcra.io.coordinates import TextLine, cut, head_of, lines_of, shortened, whole
from dcra.io.damage import naming
from dcra.io.numbers import number, real
from dcra.model.problem import Problem


def read(path: Path, b: Path | None = None) -> Problem:
    from dcra.apps.qap import qap_problem

    refuse_other(b)
    return qap_problem(*_matrices(text_of(path)))


def write(path: Path, problem: Problem) -> None:
    raise ValueError(f"{path}: write a QAPLIB file by dcra.io.qaplib.write_matrices(path, flow, distance)")


def read_matrices(path: str | Path) -> tuple[Host, Host]:
    """The two matrices of a .dat file; ValueError where it is missing or damaged, with its name."""
    with naming(Path(path)):
        return _matrices(text_of(Path(path)))


def _matrices(text: str) -> tuple[Host, Host]:
    lines = lines_of(text)
    head = head_of(lines)
    n = whole(head, 0, "the size")
    if n < 1:
        raise ValueError(f"line {head.number}: the size must be at least 1; got {n}")
    if n > MOST:
        raise ValueError(
            f"line {head.number}: two matrices of size {cut(n)} would take "
            f"{16e-9 * min(n, 10**100) ** 2:.3g} GB"
        )
    numbers = array("d")
    _add_numbers(numbers, TextLine(head.number, head.words[1:]))
    for line in lines:
        _add_numbers(numbers, line)
        if len(numbers) > 2 * n * n:
            break
    if len(numbers) != 2 * n * n:
        found = "more" if len(numbers) > 2 * n * n else len(numbers)
        raise ValueError(
            f"line {head.number} promises two matrices of size {n}, {2 * n * n} numbers; the file has {found}"
        )
    first, second = np.array(numbers).reshape(2, n, n)
    return first, second


def write_matrices(path: str | Path, flow: Host, distance: Host) -> None:
    """Write a .dat file."""
    blocks = [
        "\n".join(" ".join(map(number, row)) for row in np.asarray(M, float).tolist())
        for M in (flow, distance)
    ]
    save(Path(path), ("\n\n".join([str(len(flow)), *blocks]) + "\n").encode())


def read_solution(path: str | Path) -> tuple[float, Host]:
    """Value and permutation (0-based) of a .sln file; ValueError where it is missing or damaged."""
    with naming(Path(path)):
        return _solution(lines_of(text_of(Path(path))))


def _solution(lines: Iterator[TextLine]) -> tuple[float, Host]:
    head = head_of(lines)
    n = whole(head, 0, "the size")
    numbers = array("d")
    _add_numbers(numbers, TextLine(head.number, head.words[1:]))
    for line in lines:
        _add_numbers(numbers, line)
    order = np.array(numbers[1:]) - 1
    if not numbers or n < 1 or len(order) != n or np.any(np.sort(order) != np.arange(n)):
        raise ValueError(f"after line {head.number} a permutation of 1..{cut(n)} is expected")
    return numbers[0], order.astype(np.int64)


def write_solution(path: str | Path, value: float, permutation: Host) -> None:
    """Write a .sln file; `permutation` is 0-based."""
    order = " ".join(str(int(p) + 1) for p in permutation)
    save(Path(path), f"{len(permutation)} {number(float(value))}\n{order}\n".encode())


def _add_numbers(values: array[float], line: TextLine) -> None:
    for word in line.words:
        try:
            value = real(word.rstrip(","))
        except ValueError:
            raise ValueError(f"line {line.number}: a number expected; got {shortened([word])}") from None
        if not isfinite(value):
            raise ValueError(f"line {line.number}: numbers must be finite; got {shortened([word])}")
        values.append(value)


MOST = 10_000
