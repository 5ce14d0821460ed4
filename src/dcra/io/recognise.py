"""What a text file holds, from what it looks like."""

from __future__ import annotations

from pathlib import Path

from dcra.io.coordinates import TextLine, lines_of, text_of


def by_content(path: Path) -> str | None:
    """The format of a text file; None where it looks like none of ours.

    `p qubo` begins a QUBO. A first line `n m` with lines of three numbers below is a list of entries: a QUBO
    if one of them is on the diagonal, a Max-Cut graph otherwise. One number, then two square matrices, is a
    quadratic assignment problem, `m n` followed by m rows of n + 1 numbers a market split.
    """
    try:
        text = text_of(path)
    except ValueError:
        return None
    lines = lines_of(text)
    if not lines:
        raise ValueError("the file is empty")
    head, rest = lines[0].words, lines[1:]
    if head[:2] == ["p", "qubo"]:
        return "qubo"
    counts = _counts(head)
    if counts is None:
        return None
    if len(counts) == 1:
        return "qaplib" if sum(len(line.words) for line in rest) == 2 * counts[0] ** 2 else None
    if len(counts) == 3 and all(len(line.words) == 3 for line in rest):
        return "coo"
    if len(counts) == 2 and rest and all(len(line.words) == counts[1] + 1 for line in rest) and counts[1] > 2:
        return "marketsplit"
    if len(counts) == 2 and all(len(line.words) in (2, 3) for line in rest[:100]):
        return "sparse" if _has_diagonal(rest) else "rudy"
    return None


def _has_diagonal(lines: list[TextLine]) -> bool:
    return any(line.words[0] == line.words[1] for line in lines if len(line.words) == 3)


def _counts(words: list[str]) -> list[float] | None:
    try:
        return [float(word) if "." in word else int(word) for word in words]
    except ValueError:
        return None
