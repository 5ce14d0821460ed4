"""Answers and pictures in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from dcra._array import to_numpy
from dcra.messages import suggest
from dcra.result import Result


def _write_json(path: Path, result: Result) -> None:
    path.write_text(json.dumps(result.to_dict()) + "\n")


def _write_npz(path: Path, result: Result) -> None:
    with path.open("wb") as file:
        np.savez(
            file,
            x=to_numpy(result.x),
            fun=result.fun,
            lower_bound=result.lower_bound,
            status=result.status.value,
            seed=result.seed,
            history=np.asarray(result.history),
        )


def _write_txt(path: Path, result: Result) -> None:
    """One number a line."""
    np.savetxt(path, to_numpy(result.x), fmt="%d")


WRITERS: dict[str, Callable[[Path, Result], None]] = {
    ".json": _write_json,
    ".npz": _write_npz,
    ".txt": _write_txt,
}


def check_output(name: str | None) -> None:
    """Complain now about a file that could not be written later."""
    if name is None:
        return
    _require_folder("--output", Path(name))
    if Path(name).suffix not in WRITERS:
        raise ValueError(suggest("--output", Path(name).suffix or name, WRITERS))


def check_proof(name: str | None) -> None:
    if name is None:
        return
    _require_folder("--proof", Path(name))
    if Path(name).suffix != ".npz":
        raise ValueError(f"--proof: the file must end in .npz; got {name}")


def check_plot(name: str | None) -> None:
    if name is None:
        return
    _require_folder("--plot", Path(name))
    from dcra.plotting import picture_types

    if Path(name).suffix not in picture_types():
        raise ValueError(suggest("--plot", Path(name).suffix or name, picture_types()))


def save_output(name: str | None, result: Result) -> None:
    if name is not None:
        _saving(name, lambda path: WRITERS[path.suffix](path, result))


def save_proof(name: str | None, result: Result) -> None:
    if name is not None and result.certificate is None:
        click.echo(f"dcra: {name}: not written, for no tree proves the answer; try --method exact", err=True)
    elif name is not None:
        _saving(name, result.proof)


def save_plot(name: str | None, result: Result) -> None:
    if name is not None:
        from dcra.plotting import save_history

        _saving(name, lambda path: save_history(result, path))


def _saving(name: str, write: Callable[[Path], None]) -> None:
    from dcra.io.contents import replacing

    try:
        with replacing(Path(name)) as draft:
            write(draft)
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or error}") from error


def _require_folder(option: str, path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a directory")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no directory {path.parent}")
