"""Whatever is found wrong with a file, as a ValueError that names it, in one line."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKING = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
"""What readers of damaged archives raise, besides OSError without a number."""

FORESEEN = (ValueError, TypeError, OSError, OverflowError, MemoryError, *PACKING)
"""What our own readers, and those that they call, are known to raise."""


LONGEST = 1000
"""Letters of a complaint."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What goes wrong inside is said of the file; packages that are missing stay ImportErrors."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # readers of damaged files raise whatever they stumble over
        raise ValueError(complaint(path, error)) from error


def complaint(path: Path, error: Exception) -> str:
    """One line: the file, and what is wrong with it."""
    words = " ".join(str(error)[: 2 * LONGEST].split())
    words = words if len(words) <= LONGEST else words[:LONGEST] + "..."
    if isinstance(error, ValueError) and words.startswith(f"{path}: "):
        return words
    if isinstance(error, PACKING) or (isinstance(error, OSError) and not error.strerror):
        return f"{path}: damaged or cut short ({words or type(error).__name__})"
    if isinstance(error, OSError):
        return f"{path}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"{path}: needs more memory than there is" + (f" ({words})" if words else "")
    if isinstance(error, FORESEEN):
        return f"{path}: {words or type(error).__name__}"
    return f"{path}: damaged, or not of its kind ({type(error).__name__}: {words})"
