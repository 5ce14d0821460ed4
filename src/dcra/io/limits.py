"""How much a file may make of itself: what it may expand to, and what its header may promise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

MIB = 1 << 20
MOST_BYTES = 2048 * MIB
"""A file of text, or a packed one when expanded, is no larger than this."""

MODEST_BYTES, RATIO = 64 * MIB, 200
"""A packed file may expand to so much, or to so many times its own size: text seldom packs better."""

MOST_UNNAMED = 5_000_000
"""Variables, rows and columns that a header may declare although nothing in the file mentions them."""


class Limits(NamedTuple):
    """Limits on one file.

    Parameters
    ----------
    max_bytes : int, optional
        Bytes of a file of text, or of what a packed file expands to.
    max_size : int
        Variables, rows or columns that may be declared without being mentioned.
    """

    max_bytes: int | None = None
    max_size: int = MOST_UNNAMED

    def expanded(self, packed: int) -> int:
        """What a packed file of some size may expand to."""
        if self.max_bytes is not None:
            return self.max_bytes
        return min(MOST_BYTES, max(MODEST_BYTES, RATIO * packed))

    @property
    def plain(self) -> int:
        """What a file of text may hold."""
        return MOST_BYTES if self.max_bytes is None else self.max_bytes


_CURRENT: ContextVar[Limits] = ContextVar("limits", default=Limits())  # noqa: B039


def current() -> Limits:
    return _CURRENT.get()


@contextmanager
def limited(max_bytes: int | None = None, max_size: int | None = None) -> Iterator[None]:
    """Other limits than the usual ones for the files that are read inside; None keeps the usual one."""
    for name, value in (("max_bytes", max_bytes), ("max_size", max_size)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"`{name}` must be a whole number; got {value!r}")
        if value is not None and value < 1:
            raise ValueError(f"`{name}` must be at least 1; got {value}")
    token = _CURRENT.set(Limits(max_bytes, MOST_UNNAMED if max_size is None else max_size))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def too_large(limit: int, packed: int | None = None) -> ValueError:
    """The complaint about a file that holds, or expands to, more than it may."""
    what = "is larger than" if packed is None else f"of {shown_bytes(packed)} expands to more than"
    return ValueError(f"{what} {shown_bytes(limit)}; give `max_bytes` (--max-bytes) to allow more")


def check_declared(count: int, what: str, where: str, mentioned: int, length: int) -> None:
    """Refuse a number that a header promises and nothing in the file bears out, before it is made room for.

    Parameters
    ----------
    count, what, where : the number, its name, and its place in the file
    mentioned : int
        Entries that the file holds; each can mention two variables.
    length : int
        Bytes of the file.
    """
    most = current().max_size
    if count > max(most, 2 * mentioned):
        raise ValueError(
            f"{where}: {what} is {count} in a file of {length} bytes with {mentioned} entries; up to {most} "
            f"are read where the file does not mention them: give `max_size` (--max-size) to allow more"
        )


def shown_bytes(count: int) -> str:
    for unit, size in (("GiB", 1024 * MIB), ("MiB", MIB), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
