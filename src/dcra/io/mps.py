"""MPS and LP files whose variables are all binary, by way of HiGHS (`pip install 'dcra[mps]'`).

minimise x'Qx + c'x + constant subject to low <= G x <= high, x in {0,1}^n; the objective is negated where the
file maximises, and `Problem.maximises` says so. Variables and rows keep their names.

HiGHS works in a process of its own, with limits on its time and memory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.foreign import importing
from dcra.io import archive, model_child
from dcra.io.contents import data_of
from dcra.messages import missing
from dcra.model.constraints import StatedRows
from dcra.model.problem import Problem

SECONDS, SECONDS_PER_MB = 3.0, 1.0
"""What HiGHS may take to read a file: files of some MB take it a tenth of a second."""

START_SECONDS = 60.0
"""What its process may take to start, where the system cannot end it by itself."""

BYTES, BYTES_PER_BYTE = 1 << 30, 200
"""Memory that it may take."""

Parts = dict[str, Host]

SHOWN, SHOWN_LETTERS = 3, 40
"""Names of variables given in a complaint, and letters of each."""


def read(path: Path, b: Path | None = None) -> Problem:
    if b is not None:
        raise ValueError("a model file holds its own right-hand side; no other file is needed")
    model = _model(path)
    _require_binary(model)
    sign = -1.0 if model["maximise"] else 1.0
    G, low, high = _rows(model)
    names = _names(model, "names", model["low"].size, "x")
    Q = _quadratic(model)
    problem = Problem(
        linear=sign * model["cost"],
        quadratic=None if Q is None else sign * Q,
        constant=sign * float(model["offset"]),
        domain="binary",
        constraints=StatedRows(G, low, high, _row_names(model, names)) if G.shape[0] else (),
    )
    problem.variable_names, problem.maximises = tuple(names), bool(model["maximise"])
    return problem


def write(path: Path, problem: Problem) -> None:
    raise ValueError(f"{path}: model files are read only; write an .npz file instead")


def _model(path: Path) -> Parts:
    """The parts of a model, as `dcra.io.model_child` finds them."""
    if find_spec("highspy") is None:
        error = ModuleNotFoundError("highspy")
        raise ImportError(missing("reading model files", "highspy", "mps", error))
    data = data_of(path)
    with tempfile.TemporaryDirectory(prefix="dcra-") as folder:
        model, parts = Path(folder, f"model.{_kind(path, data)}"), Path(folder, "parts.npz")
        model.write_bytes(data)
        _run(model, parts, len(data))
        return archive.load(parts)


def _kind(path: Path, data: bytes) -> str:
    """HiGHS goes by the extension; a file of another name is an MPS file if it has rows."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".lp", ".mps")):
        return name.rpartition(".")[2]
    return "mps" if b"ROWS" in data else "lp"


def _run(model: Path, parts: Path, length: int) -> None:
    """Let HiGHS read a file, and say so where it cannot."""
    seconds = SECONDS + SECONDS_PER_MB * length / 1e6
    limits = [str(seconds), str(BYTES + BYTES_PER_BYTE * length)]
    late = f"HiGHS did not come to an end with it in {seconds:.2g} s; it is damaged, or too large"
    try:
        done = subprocess.run(
            [sys.executable, "-P", model_child.__file__, str(model), str(parts), *limits],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            timeout=START_SECONDS + model_child.WALL * seconds,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(late) from None
    code = done.returncode
    if code == model_child.UNREADABLE:
        raise ValueError("not a model that HiGHS can read")
    if code == model_child.EMPTY:
        raise ValueError("the model has no variables")
    if code in (-getattr(signal, "SIGPROF", 0), -getattr(signal, "SIGALRM", 0)) and code:
        raise ValueError(late)
    if code < 0:
        raise ValueError(f"HiGHS broke off ({signal.Signals(-code).name}): the model is damaged")
    if code:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ValueError(f"HiGHS could not read it ({words[-1][:200] if words else f'exit code {code}'})")


def _require_binary(model: Parts) -> None:
    low, high = model["low"], model["high"]
    integral = model["integer"] if model["integer"].size else np.zeros(low.size, bool)
    fixed = (low == high) & np.isin(low, (0.0, 1.0))
    within = (low >= 0) & (high <= 1)
    _refuse(model, ~integral & ~fixed, "continuous")
    _refuse(model, ~within, "not binary (bounds other than 0 and 1)")


def _refuse(model: Parts, wrong: Host, what: str) -> None:
    index = np.flatnonzero(wrong)
    if index.size == 0:
        return
    known = _names(model, "names", wrong.size, "number ")
    names = [known[j][:SHOWN_LETTERS] for j in index[:SHOWN]]
    more = f" and {index.size - SHOWN} others" if index.size > SHOWN else ""
    raise ValueError(
        f"all variables must be binary; {', '.join(names)}{more} {'is' if index.size == 1 else 'are'} {what}"
    )


def _names(model: Parts, key: str, count: int, otherwise: str) -> list[str]:
    """Names of the file; numbers for those it does not name."""
    known = model[key].tobytes().decode("utf-8", "replace").split("\n")
    known = known if len(known) == count else [""] * count
    return [name or f"{otherwise}{j}" for j, name in enumerate(known)]


def _row_names(model: Parts, names: list[str]) -> list[str]:
    """Names of the rows, and of the bounds that `_rows` adds."""
    tight = np.flatnonzero((model["low"] > 0) | (model["high"] < 1))
    own = _names(model, "row_names", model["row_low"].size, "row ")
    return own + [f"bounds of {names[j]}" for j in tight]


def _quadratic(model: Parts) -> Any:
    """Q of x'Qx, where the file has x'Hx/2 and H by its lower triangle or as a whole; None without one."""
    with importing():
        from scipy import sparse

    value, n = model["hessian_value"], model["low"].size
    if not np.any(value):
        return None
    H = sparse.csc_array((value, model["hessian_index"], model["hessian_start"]), shape=(n, n))
    H.check_format(full_check=True)
    return sparse.csc_array(H - 0.5 * sparse.diags_array(H.diagonal()) if model["triangular"] else 0.5 * H)


def _rows(model: Parts) -> tuple[Any, Any, Any]:
    """The rows of the model, and x_j = value for variables that it fixes."""
    with importing():
        from scipy import sparse

    low, high = model["low"], model["high"]
    shape = (model["row_low"].size, low.size)
    kind = sparse.csc_array if model["by_columns"] else sparse.csr_array
    G = kind((model["value"], model["index"], model["start"]), shape=shape)
    G.check_format(full_check=True)
    tight = np.flatnonzero((low > 0) | (high < 1))
    ones, each = np.ones(tight.size), np.arange(tight.size)
    unit = sparse.csr_array((ones, (each, tight)), shape=(tight.size, low.size))
    return (
        sparse.vstack([G, unit], format="csr"),
        np.append(model["row_low"], np.ceil(low[tight])),
        np.append(model["row_high"], np.floor(high[tight])),
    )
