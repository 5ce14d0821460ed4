"""Text files of numbers: lines `i j value` after a header, complaints that name the line.

Numbers are read in large pieces; a piece with a fault is looked at line by line, to say where it is.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.io.limits import check_declared
from dcra.io.numbers import integer, number, real
from dcra.io.table import PIECE, Numbers, numbers_of, pieces

LARGEST_WHOLE = 2**62
"""No count or index is larger."""

SHOWN = 60
"""Characters of a file that a complaint repeats."""


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
    end: int = 0
    """Where the line ends in the text."""


def lines_of(text: str, comments: str = "#c%") -> Iterator[TextLine]:
    """The lines that hold something: words, and the number of the line in the file."""
    line, last = 1, 0
    for found in re.finditer(r"\S[^\n]*", text):
        line, last = line + text.count("\n", last, found.start()), found.start()
        if text[last] not in comments:
            yield TextLine(line, found[0].split(), found.end())


def head_of(lines: Iterator[TextLine]) -> TextLine:
    """The first line."""
    head = next(lines, None)
    if head is None:
        raise ValueError("the file is empty")
    return head


def shortened(words: Iterable[str]) -> str:
    """What a line says, for a complaint."""
    text = " ".join(words)
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def cut(value: object) -> str:
    """A number of whatever length, for a complaint."""
    text = str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def whole(line: TextLine, place: int, what: str) -> int:
    """A whole number from a line."""
    try:
        return integer(line.words[place])
    except IndexError:
        raise ValueError(f"line {line.number}: {what} is missing") from None
    except ValueError:
        got = shortened(line.words[place : place + 1])
        raise ValueError(f"line {line.number}: {what} must be a whole number; got {got}") from None


def size(line: TextLine, place: int, what: str) -> int:
    """A number of things that the file promises."""
    count = whole(line, place, what)
    if count < 0:
        raise ValueError(f"line {line.number}: {what} must not be negative; got {cut(count)}")
    if count > LARGEST_WHOLE:
        raise ValueError(f"line {line.number}: {what} is too large; got {cut(count)}")
    return count


def read_entries(
    text: str,
    head: TextLine | None,
    n: int | None,
    base: int,
    default: float | None = None,
    promised: tuple[int, str] | None = None,
    comments: str = "#c%",
) -> Entries:
    """Lines `i j value` below the head, with indices from `base`, below `n` if that is given.

    `default` is the value of a line that has none, `promised` how many lines the head wants, and of what.
    """
    data = text.encode()
    begin, first = (len(text[: head.end].encode()), head.number) if head else (0, 1)
    most = promised[0] if promised else LARGEST_WHOLE
    if promised and data.count(b"\n", begin) < most and len(data) > PIECE:
        raise ValueError(f"line {first} promises {promised[0]} {promised[1]}; the file has fewer")
    comment = re.compile(rb"(?m)^[ \t]*[" + comments.encode() + rb"].*$")
    parts: list[list[Host]] = [[], [], [], []]
    count = 0
    for piece, line in pieces(data, begin, first):
        plain = comment.sub(b"", piece)
        found = numbers_of(plain, (3,) if default is None else (2, 3))
        columns = _slowly(plain, line, default) if found is None else _columns(found, line, default)
        for part, column in zip(parts, columns, strict=True):
            part.append(column)
        count += columns.line.size
        if count > most:
            break
    row, col, value, where = map(_joined, parts)
    if n is None:
        n = 1 - base + max(int(index.max(initial=base - 1)) for index in (row, col))
    _check_entries((row, col), value, where, n, base)
    if promised:
        require_count(count, *promised, first)
    return Entries(n, row - base, col - base, value, where)


def _joined(parts: list[Host]) -> Host:
    """Some arrays as one; the parts are given up."""
    whole = np.concatenate(parts) if parts else np.empty(0, np.int64)
    parts.clear()
    return whole


class Columns(NamedTuple):
    """Entries of some lines, as they stand there."""

    row: Host
    col: Host
    value: Host
    line: Host


def _columns(found: Numbers, line: int, default: float | None) -> Columns:
    filled = np.flatnonzero(found.counts)
    counts = found.counts[filled]
    first = np.cumsum(counts) - counts
    value = np.full(filled.size, 0.0 if default is None else default)
    stated = counts == 3
    value[stated] = found.value[first[stated] + 2]
    row, col = (found.value[first + k].astype(np.int64) for k in (0, 1))
    return Columns(row, col, value, line + filled)


def _slowly(piece: bytes, first: int, default: float | None) -> Columns:
    """The same line by line, with a complaint about the first that is no entry."""
    rows, columns, values, lines = array("q"), array("q"), array("d"), array("q")
    for place, words, _ in lines_of(piece.decode("utf-8", "replace"), ""):
        line = first + place - 1
        if len(words) != 3 and not (len(words) == 2 and default is not None):
            raise ValueError(f"line {line}: `i j value` expected; got {shortened(words)}")
        try:
            rows.append(integer(words[0]))
            columns.append(integer(words[1]))
            values.append(real(words[2]) if len(words) == 3 or default is None else default)
        except (ValueError, OverflowError):
            raise ValueError(
                f"line {line}: two whole numbers and a value expected; got {shortened(words)}"
            ) from None
        lines.append(line)
    row, col, where = (np.asarray(part, np.int64) for part in (rows, columns, lines))
    return Columns(row, col, np.asarray(values, np.float64), where)


def check_size(entries: Entries, what: str, line: int, length: int) -> None:
    """Refuse more variables than the file bears out; `length` is that of its text."""
    check_declared(entries.n, what, f"line {line}", entries.value.size, length)


def _check_entries(index: tuple[Host, Host], value: Host, line: Host, n: int, base: int) -> None:
    outside = [(one < base) | (one >= n + base) for one in index]
    if any(one.any() for one in outside):
        k = int(np.argmax(outside[0] | outside[1]))
        bad = next(int(one[k]) for one, wrong in zip(index, outside, strict=True) if wrong[k])
        if bad < 0:
            raise ValueError(f"line {line[k]}: an index must not be negative; got {bad}")
        hint = f" (indices are {base}-based)" if bad in (0, n) else ""
        raise ValueError(f"line {line[k]}: index {bad} is outside {base}..{n + base - 1}{hint}")
    endless = np.flatnonzero(~np.isfinite(value))
    if endless.size:
        k = endless[0]
        raise ValueError(f"line {line[k]}: the value must be finite; got {value[k]}")


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
        more = "more" if found > promised else found
        raise ValueError(f"line {line} promises {promised} {what}; the file has {more}")


def entry_lines(row: Iterable[int], col: Iterable[int], value: Iterable[float], base: int) -> list[str]:
    """Lines `i j value`, with the shortest text that gives the value back."""
    return [
        f"{i + base} {j + base} {number(v)}"
        for i, j, v in zip(map(int, row), map(int, col), map(float, value), strict=True)
    ]
