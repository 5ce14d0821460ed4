"""Files that must be there and be files, and what is said where they are not."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO

from dcra.io import limits
from dcra.messages import shown

STANDARD_INPUT = "-"
KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
CHUNK = 1 << 20


def require_no_directory(path: Path) -> None:
    _require_regular(path, _mode(path))


def require_file(path: Path) -> Path:
    """The path, if there is a file behind it: not a directory, device or pipe, which could block for ever."""
    mode = _mode(path)
    if mode is None:
        near = get_close_matches(path.name, _neighbours(path), n=1)
        raise ValueError(f"{path}: no such file" + (f"; did you mean {near[0]}?" if near else ""))
    _require_regular(path, mode)
    return path


def opened(path: Path) -> BinaryIO:
    """The file, open for reading: a file of the disk, whatever the path was when it was checked."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(require_file(path), flags), "rb")
    try:
        _require_regular(path, os.fstat(file.fileno()).st_mode)
    except ValueError:
        file.close()
        raise
    return file


@contextmanager
def spooled(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a file; for `-` that of a copy of standard input, which is called so in complaints."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must be a str or a path; got {shown(path)}")
    if os.fspath(path) != STANDARD_INPUT:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="dcra-") as folder:
        copy = Path(folder, "input")
        try:
            _copy_standard_input(copy)
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), "standard input")) from error


def _copy_standard_input(copy: Path) -> None:
    limit, size = limits.current().plain, 0
    with copy.open("wb") as file:
        while chunk := sys.stdin.buffer.read(CHUNK):
            size += len(chunk)
            if size > limit:
                raise ValueError(f"{copy}: {limits.too_large(limit)}")
            file.write(chunk)


def _mode(path: Path) -> int | None:
    """What kind of file there is; None if there is none."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a null character
        raise ValueError(f"{str(path)!r}: not the name of a file ({error})") from error


def _require_regular(path: Path, mode: int | None) -> None:
    if mode is None or stat.S_ISREG(mode):
        return
    kind = next((name for test, name in KINDS if test(mode)), "something else")
    hint = "" if kind == "a directory" else "; what comes from elsewhere is read from standard input, as `-`"
    raise ValueError(f"{path}: is {kind}, not a file{hint}")


def _neighbours(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []
