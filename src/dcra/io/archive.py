"""NumPy archives, read by hand: nothing is unpickled, and no array is made before its bytes are there."""

from __future__ import annotations

import struct
import zipfile
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dcra._array import Host
from dcra.io import limits
from dcra.io.coordinates import cut
from dcra.io.damage import PACKING
from dcra.io.paths import opened

MOST_MEMBERS = 10_000
LONGEST_HEAD = 10_000
"""Bytes of the description of an array; NumPy's own limit."""

READ_HEAD: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def load(path: Path) -> dict[str, Host]:
    """The arrays of an .npz file by name."""
    with opened(path) as file:
        magic = file.read(6)
        file.seek(0)
        _require_archive(magic)
        with _archive(file) as archive:
            members = archive.infolist()
            _check_members(members, file.seek(0, 2))
            return {member.filename.removesuffix(".npy"): _loaded(archive, member) for member in members}


def _archive(file: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (NotImplementedError, struct.error, IndexError) as error:  # a directory that makes no sense
        raise zipfile.BadZipFile(str(error)) from error


def _require_archive(magic: bytes) -> None:
    if magic == b"\x93NUMPY":
        raise ValueError("not an .npz archive but a single array; save it with numpy.savez(file, A=A, b=b)")
    if not magic.startswith(b"PK"):
        raise ValueError("not an .npz archive" if magic else "the file is empty")


def _check_members(members: list[zipfile.ZipInfo], length: int) -> None:
    names = [member.filename for member in members]
    strange = [name for name in names if not name.endswith(".npy")]
    if strange:
        raise ValueError(f"a zip file, but not of NumPy arrays: it holds {strange[0][:60]!r}")
    if len(names) > MOST_MEMBERS or len(set(names)) < len(names):
        raise ValueError("the archive holds two arrays of one name, or too many")
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    limit = length if stored else limits.current().expanded(length)
    if sum(member.file_size for member in members) > limit:
        raise limits.too_large(limit, length)


def _loaded(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Host:
    name = member.filename.removesuffix(".npy")[:60]
    try:
        data = archive.read(member)
    except (*PACKING, RuntimeError, NotImplementedError, OSError) as error:
        raise zipfile.BadZipFile(f"`{name}`: {cut(error)}") from error
    file = BytesIO(data)
    shape, by_columns, dtype = _head(file, name)
    if dtype.hasobject:
        raise ValueError(f"`{name}` holds pickled Python objects, which are never loaded")
    size, there = prod(shape) * dtype.itemsize, len(data) - file.tell()
    if size != there or (dtype.itemsize == 0 and prod(shape) > MOST_MEMBERS):
        raise ValueError(f"`{name}` is damaged: its head promises {size} bytes, {there} are there")
    flat = np.frombuffer(data, dtype, prod(shape), file.tell()) if size else np.zeros(prod(shape), dtype)
    array = flat.reshape(shape, order="F" if by_columns else "C")
    return array if array.flags.aligned else array.copy(order="K")


def _head(file: BytesIO, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of an array, as its head describes them."""
    try:
        version = np.lib.format.read_magic(file)
        reader = READ_HEAD.get(version, np.lib.format.read_array_header_2_0)
        shape, by_columns, dtype = reader(file, max_header_size=LONGEST_HEAD)
    except Exception as error:  # the head is a literal of Python, and fails in as many ways
        raise ValueError(f"`{name}` is damaged: its head cannot be read ({type(error).__name__})") from error
    if any(size < 0 for size in shape) or len(shape) > 8 or dtype.names is not None or dtype.subdtype:
        raise ValueError(f"`{name}` is damaged: its head describes no plain array")
    return shape, by_columns, dtype
