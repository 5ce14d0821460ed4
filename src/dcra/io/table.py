"""Lines of numbers, many at a time: the quick way through a large file of text, for lines without a fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dcra._array import Host

PIECE = 1 << 20
"""Characters looked at together."""

NUMERIC = b"0123456789+-.eE \t\n"
LARGEST_INDEX = 2.0**53
"""Whole numbers are exact in float64 up to here."""


class Numbers(NamedTuple):
    """Numbers in their order, and for each line how many it has."""

    value: Host
    counts: Host


class Piece(NamedTuple):
    """Whole lines of a text, and the number of the first of them."""

    text: bytes
    line: int


def pieces(data: bytes, begin: int, line: int) -> Iterator[Piece]:
    """A text from `begin`, which is in line `line`, cut between lines."""
    while begin < len(data):
        end = data.find(b"\n", begin + PIECE) + 1 or len(data)
        yield Piece(data[begin:end], line)
        line, begin = line + data.count(b"\n", begin, end), end


def numbers_of(piece: bytes, widths: tuple[int, ...] = ()) -> Numbers | None:
    """The numbers of a piece; None where anything in it is out of the ordinary.

    With `widths`, every line that is not blank must have one of these counts of numbers, the first two of
    them whole and written as such.
    """
    if piece.translate(None, NUMERIC):
        return None
    try:
        value = np.array(list(map(float, piece.split())), np.float64)
    except ValueError:
        return None
    if not widths:
        return Numbers(value, np.empty(0, np.int64))
    letters = np.frombuffer(piece, np.uint8)
    inside = letters > ord(" ")
    starts = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    starts = np.append(0, starts) if inside[:1].any() else starts
    ends = np.append(np.flatnonzero(letters == ord("\n")), letters.size)
    counts = np.diff(np.searchsorted(starts, ends), prepend=0)
    if np.count_nonzero(counts) != sum(np.count_nonzero(counts == width) for width in widths):
        return None
    index = _places(counts) < 2
    broken = np.flatnonzero((letters == ord(".")) | ((letters | 32) == ord("e")))
    if index[np.searchsorted(starts, broken, side="right") - 1].any():
        return None
    if np.any(np.abs(value[index]) > LARGEST_INDEX):
        return None
    return Numbers(value, counts)


def _places(counts: Host) -> Host:
    """The place of each number in its line."""
    total = int(counts.sum())
    first = np.cumsum(counts) - counts
    return np.asarray(np.arange(total) - np.repeat(first, counts))
