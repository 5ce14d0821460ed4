"""What a text file holds, from what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dcra.io.contents import NotText, text_of
from dcra.io.coordinates import TextLine, head_of, lines_of
from dcra.io.numbers import integer, real
from dcra.io.paths import opened

DIMACS = ("qubo", "cnf", "wcnf")
MPS_SECTIONS = ("NAME", "ROWS", "OBJSENSE", "OBJSENSE:")
STRANGERS = {
    b"\x93NUMPY": "a single array, not a problem; take it by `numpy.load` and give it to `dcra.minimize`",
    b"MATLAB 5.0": "a file of MATLAB, not a problem; take its arrays by `scipy.io.loadmat`",
}
"""What files of others begin with."""

LP_AIMS = ("min", "minimize", "minimise", "minimum", "max", "maximize", "maximise", "maximum")


def by_content(path: Path) -> str | None:
    """The format of a text file; None where it looks like none of ours.

    `p qubo` begins a QUBO, `p cnf` and `p wcnf` begin clauses. An .lp model begins with its aim, an
    .mps model with NAME or another section. A first line `n m` with lines of three numbers below is a list of
    entries: a QUBO if one of them is on the diagonal, a Max-Cut graph otherwise. One number, then two square
    matrices, is a quadratic assignment problem, `m n` followed by m rows of n + 1 numbers a market split.
    """
    _refuse_strangers(path)
    try:
        text = text_of(path)
    except NotText:
        return None
    lines = lines_of(text)
    head = head_of(lines).words
    if head[0] == "p" and len(head) > 1 and head[1] in DIMACS:
        return head[1]
    if (model := _model(text)) is not None:
        return model
    counts = _counts(head)
    if counts is None:
        return None
    shape = _shape(lines)
    if len(counts) == 1:
        return "qaplib" if shape.words == 2 * counts[0] * counts[0] else None
    if len(counts) == 3 and shape.widths <= {3}:
        return "coo"
    if len(counts) == 2 and shape.widths == {counts[1] + 1} and counts[1] > 2:
        return "marketsplit"
    if len(counts) == 2 and shape.first_widths <= {2, 3}:
        return "sparse" if shape.diagonal else "rudy"
    return None


def _refuse_strangers(path: Path) -> None:
    with opened(path) as file:
        start = file.read(16)
    for magic, told in STRANGERS.items():
        if start.startswith(magic):
            raise ValueError(told)


def _model(text: str) -> str | None:
    """Whether it is an .lp or an .mps model, by the first word that is no comment."""
    first = next(lines_of(text, comments="\\*"), None)
    word = "" if first is None else first.words[0]
    if word in MPS_SECTIONS:
        return "mps"
    return "lp" if word.lower().rstrip(":") in LP_AIMS else None


class Shape(NamedTuple):
    """Lines below the first one: how many words they have, all, each, and the first hundred."""

    words: int
    widths: set[int]
    first_widths: set[int]
    diagonal: bool


def _shape(lines: Iterator[TextLine]) -> Shape:
    words, widths, first_widths, diagonal = 0, set(), set(), False
    for k, line in enumerate(lines):
        width = len(line.words)
        words += width
        widths.add(width)
        if k < 100:
            first_widths.add(width)
        diagonal = diagonal or (width == 3 and line.words[0] == line.words[1])
    return Shape(words, widths, first_widths, diagonal)


def _counts(words: list[str]) -> list[float] | None:
    try:
        return [real(word) if "." in word else integer(word) for word in words]
    except ValueError:
        return None
