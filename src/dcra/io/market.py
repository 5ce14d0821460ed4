"""Matrix Market, read: a banner, comments, a line of sizes, then entries (coordinate) or columns (array).

Numbers are read in large pieces, and everything that the header promises is held against what is there
before anything is made for it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.io.coordinates import LARGEST_WHOLE, shortened
from dcra.io.limits import check_declared
from dcra.io.numbers import integer, real
from dcra.io.table import numbers_of, pieces

LONGEST = 10_000
"""Letters of a line that are looked at for a fault."""

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


class Head(NamedTuple):
    """What banner and size line say, the line of the latter, and where it ends."""

    coordinate: bool
    pattern: bool
    symmetry: str
    sizes: list[int]
    line: int
    end: int


def parse(data: bytes) -> Any:
    """The matrix in a file: scipy.sparse in coordinate form, or a NumPy matrix."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    head = _head(data)
    return _coordinate(data, head) if head.coordinate else _array(data, head)


def comments(data: bytes) -> list[str]:
    """The comment lines at the top."""
    top = re.match(rb"(?:[ \t\r]*(?:%[^\n]*)?\n)*", data)
    lines = top[0].decode("utf-8", "replace").split("\n") if top else []
    return [line.strip().lstrip("%").strip() for line in lines if line.strip()]


def _head(data: bytes) -> Head:
    banner = data[: data.find(b"\n") if b"\n" in data else len(data)][:200].decode("latin-1").lower().split()
    if banner[:1] != ["%%matrixmarket"]:
        raise ValueError("Not a Matrix Market file: line 1 must begin with %%MatrixMarket")
    if len(banner) != 5 or banner[1] != "matrix" or banner[2] not in ("coordinate", "array"):
        raise ValueError(
            "line 1: '%%MatrixMarket matrix coordinate|array FIELD SYMMETRY' expected; "
            f"got {shortened(banner)}"
        )
    if banner[3] not in FIELDS or banner[4] not in SYMMETRIES:
        raise ValueError(
            f"line 1: the field must be one of {', '.join(FIELDS)}, the symmetry one of "
            f"{', '.join(SYMMETRIES)}; got {shortened(banner[3:])}"
        )
    coordinate, pattern = banner[2] == "coordinate", banner[3] == "pattern"
    if pattern and not coordinate:
        raise ValueError("line 1: an array cannot be a pattern")
    found = re.compile(rb"(?:[^\S\n]*(?:%[^\n]*)?\n)*([^\n]*)").match(data)
    assert found is not None
    line = data.count(b"\n", 0, found.start(1)) + 1
    words = found[1][:200].decode("latin-1").split()
    if not words:
        raise ValueError(f"Truncated file: line {line} should hold the sizes")
    try:
        sizes = [integer(word) for word in words]
    except ValueError:
        sizes = []
    if len(sizes) != (3 if coordinate else 2) or not all(0 <= size < LARGEST_WHOLE for size in sizes):
        want = "rows, columns and entries" if coordinate else "rows and columns"
        raise ValueError(f"line {line}: {want} expected, as whole numbers; got {shortened(words)}")
    if banner[4] != "general" and sizes[0] != sizes[1]:
        raise ValueError(f"line {line}: a {banner[4]} matrix must be square; got {sizes[0]} x {sizes[1]}")
    return Head(coordinate, pattern, banner[4], sizes, line, found.end())


def _coordinate(data: bytes, head: Head) -> Any:
    with importing():
        from scipy import sparse

    rows, columns, count = head.sizes
    width = 2 if head.pattern else 3
    numbers, line = _numbers(data, head, width, count * width)
    if numbers.size != count * width:
        raise _wrong_count(numbers.size // width, count, "entries", head)
    for size, what in ((rows, "the number of rows"), (columns, "the number of columns")):
        check_declared(size, what, f"line {head.line}", count, len(data))
    table = numbers.reshape(count, width)
    for column, (size, what) in enumerate(((rows, "row"), (columns, "column"))):
        wrong = np.flatnonzero((table[:, column] < 1) | (table[:, column] > size))
        if wrong.size:
            k = wrong[0]
            raise ValueError(
                f"line {line[k]}: index out of bounds: {what} {table[k, column]:.0f} of {size} (from 1)"
            )
    i, j = (table[:, k].astype(np.int64) - 1 for k in (0, 1))
    value = np.ones(count) if head.pattern else table[:, 2]
    if head.symmetry != "general":
        off = i != j
        if head.symmetry == "skew-symmetric" and not off.all():
            raise ValueError(f"line {line[np.argmin(off)]}: a skew-symmetric matrix has no diagonal")
        turned = -value[off] if head.symmetry == "skew-symmetric" else value[off]
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        value = np.concatenate([value, turned])
    return sparse.coo_array((value, (i, j)), shape=(rows, columns))


def _array(data: bytes, head: Head) -> Host:
    rows, columns = head.sizes
    general, skew = head.symmetry == "general", head.symmetry == "skew-symmetric"
    count = rows * columns if general else rows * (rows - 1) // 2 if skew else rows * (rows + 1) // 2
    numbers, _ = _numbers(data, head, 0, count)
    if numbers.size != count:
        raise _wrong_count(numbers.size, count, "numbers", head)
    if general:
        return numbers.reshape(columns, rows).T
    A = np.zeros((rows, columns))
    A.T[np.triu_indices(rows, 1 if skew else 0)] = numbers  # the lower triangle, column by column
    other = np.tril(A, -1).T
    return A - other if skew else A + other


def _wrong_count(found: int, promised: int, what: str, head: Head) -> ValueError:
    told = f"line {head.line} promises {promised} {what}; the file has"
    return ValueError(f"Truncated file: {told} {found}" if found < promised else f"{told} more")


def _numbers(data: bytes, head: Head, width: int, most: int) -> tuple[Host, Host]:
    """The numbers below the head, and the line of each row of `width`; a few beyond `most` are enough."""
    values, lines, count = [np.empty(0)], [np.empty(0, np.int64)], 0
    for text, line in pieces(data, head.end, head.line):
        piece = re.sub(rb"(?m)^[ \t]*%.*$", b"", text) if b"%" in text else text
        found = numbers_of(piece, (width,) if width else ())
        if found is None or not np.all(np.isfinite(found.value)):
            raise _fault(piece, line, width)
        values.append(found.value)
        lines.append(line + np.flatnonzero(found.counts))
        count += found.value.size
        if count > most:
            break
    return np.concatenate(values), np.concatenate(lines)


def _fault(piece: bytes, line: int, width: int) -> ValueError:
    """What is wrong with a piece, and where."""
    for number, text in enumerate(piece.split(b"\n"), line):
        words = text[:LONGEST].decode("utf-8", "replace").split()
        for place, word in enumerate(words):
            try:
                good = np.isfinite(real(word))
                good = bool(good and (place > 1 or not width or integer(word) is not None))
            except ValueError:
                good = False
            if not good:
                kind = "a whole number" if width and place < 2 else "a number"
                return ValueError(f"line {number}: {kind} expected; got {shortened([word])}")
        if width and words and len(words) != width:
            return ValueError(f"line {number}: {width} numbers expected; got {shortened(words)}")
    return ValueError(f"line {line}: numbers expected")
