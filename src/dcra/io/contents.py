"""What files hold, whole: read under a limit and unpacked on the way, written as a whole or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from dcra.io import limits
from dcra.io.paths import CHUNK, opened

UNPACKERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
}
"""By the first bytes of a file."""

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
}
"""By the end of a file's name."""


class NotText(ValueError):
    """Bytes that no text has."""


def data_of(path: Path) -> bytes:
    """The bytes of a file, unpacked where its first ones say so; no more than the limits allow."""
    with opened(path) as file:
        start = file.read(8)
        file.seek(0)
        unpack = next((unpack for magic, unpack in UNPACKERS.items() if start.startswith(magic)), None)
        if unpack is None:
            return _whole(file, limits.current().plain, None).removeprefix(BOM_UTF8)
        packed = os.fstat(file.fileno()).st_size
        with unpack(file) as inside:
            return _whole(inside, limits.current().expanded(packed), packed).removeprefix(BOM_UTF8)


def refuse_other(b: Path | None) -> None:
    """Refuse a file with a right-hand side."""
    if b is not None:
        raise ValueError("a file of this format holds all its numbers; `b` goes with Matrix Market files")


def text_of(path: Path) -> str:
    """The text of a file, unpacked, its lines ended by \\n alone."""
    data = data_of(path)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotText("not a text file") from error


def save(path: Path, data: bytes) -> None:
    """Write a file, packed where its name says so."""
    name = path.name.lower()
    pack = next((pack for ending, pack in PACKERS.items() if name.endswith(ending)), bytes)
    with replacing(path) as draft:
        draft.write_bytes(pack(data))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A draft beside a file, put in its place when all went well: a full disk leaves what was there.

    Where there is no file but something else to write to, such as a device, or where nothing can be put
    beside it, the path is its own draft.
    """
    target = path.resolve()
    draft = None if target.exists() and not target.is_file() else _draft(target)
    if draft is None:
        yield path
        return
    try:
        yield draft
        with suppress(FileNotFoundError):
            draft.chmod(target.stat().st_mode & 0o777)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _draft(target: Path) -> Path | None:
    """An empty file beside another, with the same ending and the usual rights; None where that cannot be."""
    try:
        descriptor, name = tempfile.mkstemp(
            suffix="".join(target.suffixes[-2:]), prefix=f".{target.stem[:40]}-", dir=target.parent
        )
    except PermissionError:
        if target.exists():
            return None
        raise
    os.close(descriptor)
    mask = os.umask(0)
    os.umask(mask)
    with suppress(OSError):
        os.chmod(name, 0o666 & ~mask)
    return Path(name)


def _whole(file: Any, limit: int, packed: int | None) -> bytes:
    parts, size = [], 0
    while chunk := file.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise limits.too_large(limit, packed)
        parts.append(chunk)
    return b"".join(parts)
