"""The folder of a run: which benchmark it belongs to, and the lock of whoever writes to it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dcra import __version__
from dcra.bench import rows
from dcra.bench.base import Benchmark, Row

LABEL, LOCK = "bench.json", ".lock"


def label_of(benchmark: Benchmark, name: str) -> dict[str, Any]:
    """What is written on a folder: rows with another label cannot be compared with these.

    `name` is what a report finds the benchmark by: its own, or 'module:class'.
    """
    return {"benchmark": name, "version": benchmark.version, "dcra": __version__}


def read_label(folder: Path) -> dict[str, Any]:
    """The label of a folder of rows."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    try:
        label = json.loads((folder / LABEL).read_text())
    except FileNotFoundError:
        raise ValueError(f"{folder} has no {LABEL}: it is not the output of `dcra bench`") from None
    except OSError as error:
        raise ValueError(f"{folder / LABEL}: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise ValueError(f"{folder / LABEL} is damaged") from None
    if not isinstance(label, dict) or not isinstance(label.get("benchmark"), str) or "version" not in label:
        raise ValueError(f"{folder / LABEL} is damaged")
    return label


def claim(folder: Path, label: dict[str, Any]) -> None:
    """Make a folder ours; one that belongs to another benchmark or version is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / LABEL).exists():
        require_same(folder, read_label(folder), label)
        return
    if [file for file in folder.iterdir() if not file.name.startswith(".")]:
        raise ValueError(f"{folder} has files of its own: give `--out` a new or an empty folder")
    rows.replace(folder / LABEL, [json.dumps(label).encode() + b"\n"])


def require_same(folder: Path, found: dict[str, Any], label: dict[str, Any]) -> None:
    """Refuse rows that cannot be compared, in words."""
    for name, what in (("benchmark", "benchmark"), ("version", "benchmark version"), ("dcra", "dcra")):
        if name in label and found.get(name) != label[name]:
            raise ValueError(
                f"{folder} holds rows of {what} {found.get(name)}, not of {label[name]}: "
                "give `--out` another folder"
            )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, so that two runs do not write to it at once; the lock dies with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            _lock(descriptor)
        except OSError:
            raise ValueError(
                f"another run is writing to {folder}: wait for it, or use another folder"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def merge(out: Path, folders: Sequence[Path], where: rows.Where = (), pack: bool = False) -> tuple[int, int]:
    """Put the rows of several folders into a new one; how many there are, and how many came twice.

    Of rows with the same key a finished one is kept before one that failed, else the first. With `pack` they
    are compressed.
    """
    label = read_label(folders[0])
    for folder in folders[1:]:
        require_same(folder, read_label(folder), {name: label[name] for name in ("benchmark", "version")})
    found = [row for folder in folders for row in rows.read(folder)]
    wanted = rows.condition(where, found)
    kept: dict[str, Row] = {}
    chosen = [row for row in found if wanted(row)]
    for row in sorted(chosen, key=lambda row: row.get("status", "ok") != "ok"):
        kept.setdefault(rows.key_of(row), row)
    with suppress(FileNotFoundError):
        if any(out.iterdir()):
            raise ValueError(f"{out} is not empty: merge into a new folder")
    out.mkdir(parents=True, exist_ok=True)
    if pack:
        rows.replace(out / rows.PACKED, [rows.packed(kept.values())])
    else:
        rows.replace(out / rows.ROWS, map(rows.line_of, kept.values()))
    rows.replace(out / LABEL, [json.dumps(label).encode() + b"\n"])
    return len(kept), len(chosen) - len(kept)
