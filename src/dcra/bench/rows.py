"""Rows in files: JSON lines, appended one by one so that nothing is lost whenever the process dies."""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dcra.bench.base import Row
from dcra.bench.faults import Malformed, parse_row
from dcra.io.limits import Limits, too_large
from dcra.io.paths import CHUNK
from dcra.messages import suggest

ROWS, PACKED, TORN = "rows.jsonl", "rows.jsonl.gz", "rows.torn.txt"

GZIP = zlib.MAX_WBITS | 16
BROKEN_OFF = b"\n... damaged or cut short from here\n"

Where = Sequence[str]
"""Conditions FIELD=VALUE or FIELD=VALUE,VALUE; all must hold."""


def line_of(row: Row) -> bytes:
    """A row as a line of JSON; numbers that JSON does not know become null."""
    return json.dumps(plain(row), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def plain(value: Any) -> Any:
    """The same with Python's own types alone."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def key_of(row: Row) -> str:
    """What tells a row from every other of its benchmark; the same as its case's key."""
    budget = row.get("budget")
    return f"{row['instance']}|{row['method']}|{row['seed']}|{'own' if budget is None else f'{budget:g}s'}"


class Line(NamedTuple):
    """A line of a rows file: the row in it, or None and what is wrong with it."""

    number: int
    text: bytes
    row: Row | None
    fault: str = ""


def read(folder: Path) -> list[Row]:
    """The rows of a folder, packed or not.

    A damaged line is left out, and left where it is; `faults` tells of it.
    """
    return [line.row for line in _parsed(folder) if line.row is not None]


def faults(folder: Path) -> list[tuple[str, str]]:
    """Lines that `read` leaves out: where they are, and what is wrong with them."""
    file = _file(folder)
    return [(f"{file.name}, line {line.number}", line.fault) for line in _parsed(folder) if line.row is None]


def repair(folder: Path) -> int:
    """Make a rows file fit to be added to; how many damaged lines were set aside, into a file beside it.

    Packed rows are unpacked, and a last line that lacks its end is completed.
    """
    file, packed = folder / ROWS, folder / PACKED
    lines = _parsed(folder)
    torn = [line.text for line in lines if line.row is None]
    if torn:
        with (folder / TORN).open("ab") as aside:
            aside.writelines(line.rstrip(b"\n") + b"\n" for line in torn)
            _flush(aside)
    unpacked = packed.exists() and not file.exists()
    if unpacked or torn or (lines and not lines[-1].text.endswith(b"\n")):
        replace(file, (line.text.rstrip(b"\n") + b"\n" for line in lines if line.row is not None))
    if unpacked:
        packed.unlink()
    return len(torn)


def replace(file: Path, lines: Iterable[bytes]) -> None:
    """Write a file as a whole or not at all."""
    draft = file.with_name(f".{file.name}.draft")
    try:
        with draft.open("wb") as out:
            out.writelines(lines)
            _flush(out)
        os.replace(draft, file)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def packed(rows: Iterable[Row]) -> bytes:
    """Rows as lines, gzipped the same way every time."""
    return gzip.compress(b"".join(map(line_of, rows)), mtime=0)


class Appender:
    """Adds rows to a file; each is on the disk, whole, when `add` returns."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / ROWS
        self.descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def add(self, row: Row) -> None:
        """Append a row; an error leaves the rows before it as they were."""
        line = line_of(row)
        size = os.fstat(self.descriptor).st_size
        try:
            written = os.write(self.descriptor, line)
            if written < len(line):
                os.write(self.descriptor, line[written:])  # says why there is no room for the rest
            os.fsync(self.descriptor)
        except OSError:
            with suppress(OSError):  # what cannot be shortened is repaired by the next run
                os.ftruncate(self.descriptor, size)
            raise

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def condition(where: Where, rows: Sequence[Row]) -> Callable[[Row], bool]:
    """The function that tells whether a row meets all conditions; fields that no row has are refused."""
    wanted = {}
    known = {name: None for row in rows for name in row}
    for text in where:
        name, equals, values = text.partition("=")
        if not equals:
            raise ValueError(f"`--where` must be FIELD=VALUE or FIELD=VALUE,VALUE; got {text!r}")
        if rows and name not in known:
            raise ValueError(suggest("--where", name, known))
        wanted[name] = {value.strip() for value in values.split(",")}
    return lambda row: all(_shown(row.get(name)) in values for name, values in wanted.items())


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _file(folder: Path) -> Path:
    return folder / (PACKED if not (folder / ROWS).exists() and (folder / PACKED).exists() else ROWS)


def _parsed(folder: Path) -> list[Line]:
    """The lines of the rows file that hold something."""
    file = _file(folder)
    if not file.exists():
        return []
    data = salvaged(file) if file.name == PACKED else file.read_bytes()
    lines = enumerate(data.splitlines(keepends=True), 1)
    return [_line(number, text) for number, text in lines if text.strip()]


def _line(number: int, text: bytes) -> Line:
    try:
        return Line(number, text, parse_row(text))
    except Malformed as error:
        return Line(number, text, None, str(error))


def salvaged(file: Path) -> bytes:
    """What can be unpacked of a file; a line at its end says where it broke off, if it did."""
    packed = file.read_bytes()
    limit, parts, size = Limits().expanded(len(packed)), [], 0
    unpack, rest, whole = zlib.decompressobj(GZIP), packed, False
    while rest:
        try:
            parts.append(unpack.decompress(rest, CHUNK))
        except zlib.error:
            break
        size += len(parts[-1])
        if size > limit:
            raise ValueError(f"{file}: {too_large(limit, len(packed))}")
        rest, whole = unpack.unconsumed_tail, unpack.eof
        if unpack.eof:  # another member may follow
            rest, unpack = unpack.unused_data, zlib.decompressobj(GZIP)
    return b"".join(parts) + (b"" if whole else BROKEN_OFF)


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
