"""Text files of numbers, packed or not: lines `i j value` after a header, complaints that name the line."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dcra._array import Host

MOST_VARIABLES = 100_000_000
"""A header that promises more is an error of the file, or needs more memory than is wise to take unasked."""


class Entries(NamedTuple):
    """Coefficients (row, column, value) of a square matrix, 0-based, with the line that each comes from."""

    n: int
    row: Host
    col: Host
    value: Host
    line: Host


class TextLine(NamedTuple):
    number: int
    words: list[str]


def text_of(path: Path) -> str:
    """The whole file, unpacked where its first bytes say so."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if packed else path.open("rb") as file:
        raw: bytes = file.read()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("not a text file") from None


def save_text(path: Path, text: str) -> None:
    """Write a text file, packed where its name ends in .gz."""
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.name.lower().endswith(".gz") else data)


def lines_of(text: str, comments: str = "#c%") -> list[TextLine]:
    """The lines that hold something: words, and the number of the line in the file."""
    lines = (TextLine(number, line.split()) for number, line in enumerate(text.splitlines(), 1))
    return [line for line in lines if line.words and line.words[0][0] not in comments]


def whole(line: TextLine, place: int, what: str) -> int:
    """A whole number from a line."""
    try:
        return int(line.words[place])
    except IndexError:
        raise ValueError(f"line {line.number}: {what} is missing") from None
    except ValueError:
        raise ValueError(
            f"line {line.number}: {what} must be a whole number; got {line.words[place]!r}"
        ) from None


def size(line: TextLine, place: int, what: str) -> int:
    """A number of things that the file promises, before anything is made for them."""
    count = whole(line, place, what)
    if count < 0:
        raise ValueError(f"line {line.number}: {what} must not be negative; got {count}")
    if count > MOST_VARIABLES:
        raise ValueError(
            f"line {line.number}: {what} is {count}, a vector of {count * 8 / 1e9:.3g} GB; "
            f"at most {MOST_VARIABLES} are read"
        )
    return count


def read_entries(lines: list[TextLine], n: int, base: int, default: float | None = None) -> Entries:
    """Lines `i j value` with indices from `base`; `default` is the value of a line that has none."""
    count = len(lines)
    index = np.empty((count, 2), np.int64)
    value = np.empty(count)
    number = np.fromiter((line.number for line in lines), np.int64, count)
    for k, line in enumerate(lines):
        words = line.words
        if len(words) != 3 and not (len(words) == 2 and default is not None):
            raise ValueError(f"line {line.number}: `i j value` expected; got {' '.join(words)[:60]!r}")
        try:
            index[k] = int(words[0]), int(words[1])
            value[k] = float(words[2]) if len(words) == 3 else default
        except (ValueError, OverflowError):
            raise ValueError(
                f"line {line.number}: two whole numbers and a value expected; got {' '.join(words)[:60]!r}"
            ) from None
    _check_entries(index, value, number, n, base)
    return Entries(n, index[:, 0] - base, index[:, 1] - base, value, number)


def _check_entries(index: Host, value: Host, number: Host, n: int, base: int) -> None:
    wrong = np.flatnonzero((index < base).any(axis=1) | (index >= n + base).any(axis=1))
    if wrong.size:
        k = wrong[0]
        bad = next(int(i) for i in index[k] if not base <= i < n + base)
        hint = f" (indices are {base}-based)" if bad in (0, n) else ""
        raise ValueError(f"line {number[k]}: index {bad} is outside {base}..{n + base - 1}{hint}")
    endless = np.flatnonzero(~np.isfinite(value))
    if endless.size:
        k = endless[0]
        raise ValueError(f"line {number[k]}: the value must be finite; got {value[k]}")


def refuse_repeats(entries: Entries, ordered: bool = False) -> None:
    """Complain about a pair that comes twice, in either order unless `ordered`."""
    row, col = entries.row, entries.col
    low, high = (row, col) if ordered else (np.minimum(row, col), np.maximum(row, col))
    order = np.lexsort((entries.line, high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if same.any():
        k = int(np.argmax(same))
        first, second = entries.line[order[k]], entries.line[order[k + 1]]
        raise ValueError(f"line {second}: the pair of line {first} again")


def require_count(found: int, promised: int, what: str, line: int) -> None:
    if found != promised:
        raise ValueError(f"line {line} promises {promised} {what}; the file has {found}")


def entry_lines(row: Iterable[int], col: Iterable[int], value: Iterable[float], base: int) -> list[str]:
    """Lines `i j value`, with the shortest text that gives the value back."""
    return [
        f"{i + base} {j + base} {number(v)}"
        for i, j, v in zip(map(int, row), map(int, col), map(float, value), strict=True)
    ]


def number(value: float) -> str:
    """The shortest text that gives the value back."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
