"""Numbers in files: ASCII digits, a point, an exponent; what Python takes besides is not for files."""

from __future__ import annotations


def integer(word: str) -> int:
    """A whole number; ValueError for anything else, underscores and digits of other scripts included."""
    _require_plain(word)
    return int(word)


def real(word: str) -> float:
    """A number; ValueError for anything else. 'inf' and 'nan' are for the caller to refuse."""
    _require_plain(word)
    return float(word)


def number(value: float) -> str:
    """The shortest text that gives a value back."""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _require_plain(word: str) -> None:
    if "_" in word or not word.isascii():
        raise ValueError(f"not a plain number: {word!r}")
