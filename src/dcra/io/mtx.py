"""Matrix Market files: A in NAME.mtx, b in NAME_b.mtx beside it, c in NAME_c.mtx and Q in NAME_Q.mtx if any.

A comment line `% dcra: loss=huber:threshold=2 domain=binary` states loss and domain; without it they are l1
and spin. Files may end in .mtx.gz.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.foreign import importing
from dcra.io import market
from dcra.io.contents import data_of, save
from dcra.io.damage import PACKING
from dcra.io.text import loss_text, parse_loss
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.term import Term

ENDINGS = (".mtx", ".mtx.gz")
MARK = "dcra:"


def read(path: Path, b: Path | None) -> Problem:
    data = data_of(path)
    A = _matrix(data)
    rhs, cost, square = b or _beside(path, "b"), _beside(path, "c"), _beside(path, "Q")
    if rhs is None:
        name = _stem(path)
        alone = "; a Q alone, as x'Qx, is read from a .coo, .qubo or .npz file"
        raise ValueError(
            f"no right-hand side: neither {name}_b.mtx nor {name}.b.mtx (or .mtx.gz) is beside it"
            + (alone if A.shape[0] == A.shape[1] else "")
        )
    stated = _stated(data)
    term = Term(parse_loss(stated.get("loss", "l1")), A, _vector(rhs, A.shape[0], "rows"))
    linear = None if cost is None else _vector(cost, A.shape[1], "columns")
    quadratic = None if square is None else _part(square)
    return Problem([term], linear=linear, quadratic=quadratic, domain=stated.get("domain", "spin"))


def write(path: Path, problem: Problem) -> None:
    plain = not problem.constant and problem.constraints is None
    if len(problem.terms) != 1 or not plain or not _is_one(problem.terms[0].weight):
        raise ValueError(
            f"{path}: Matrix Market files hold one term without weights, no constant and no constraints; "
            f"write an .npz file"
        )
    (term,) = problem.terms
    if isinstance(term.operator, MatrixFree):
        raise ValueError(f"{path}: `A` is an operator without a matrix and cannot be written to a file")
    if problem.quadratic is not None and problem.quadratic.matrix_free:
        raise ValueError(f"{path}: `Q` is an operator without a matrix and cannot be written to a file")
    for part, what, missing in (
        ("c", "linear", problem.linear is None),
        ("Q", "quadratic", problem.quadratic is None),
    ):
        stale = _beside(path, part) if missing else None
        if stale is not None:
            raise ValueError(
                f"{path}: {stale.name} is beside it and would be read as its {what} term; remove it first"
            )
    A = term.operator.on_host()
    stated = f" {MARK} loss={loss_text(term.loss)} domain={problem.domain}"
    _write(path, A.astype(np.float64), stated)  # the shortest text of a float32 is not that of its float64
    ending = _ending(path)
    _write(path.with_name(f"{_stem(path)}_b{ending}"), to_numpy(term.b)[:, None])
    if problem.linear is not None:
        _write(path.with_name(f"{_stem(path)}_c{ending}"), to_numpy(problem.linear)[:, None])
    if problem.quadratic is not None:
        Q = problem.quadratic.operator.A
        Q = Q if hasattr(Q, "tocoo") else to_numpy(Q)
        _write(path.with_name(f"{_stem(path)}_Q{ending}"), Q.astype(np.float64))


def _matrix(data: bytes) -> Any:
    with importing():
        from scipy import sparse

    A = market.parse(data)
    return A if isinstance(A, np.ndarray) else sparse.csc_array(A)


def _part(path: Path) -> Any:
    """The matrix in a file beside A, which complaints name."""
    try:
        return _matrix(data_of(path))
    except (ValueError, OSError, *PACKING) as error:
        raise ValueError(f"in {path.name}: {error}") from error


def _vector(path: Path, size: int, axis: str) -> Host:
    A = _part(path)
    if sorted(A.shape) != sorted((1, size)):
        raise ValueError(
            f"{path.name} must hold one vector of {size} numbers, one for each of A's {axis}; "
            f"got shape {A.shape}"
        )
    return (A.toarray() if hasattr(A, "toarray") else np.asarray(A)).ravel()


def _write(path: Path, A: Any, comment: str = "") -> None:
    with importing():
        from scipy import io

    text = BytesIO()
    io.mmwrite(text, A, comment=comment, symmetry="general")
    save(path, text.getvalue())


def _stated(data: bytes) -> dict[str, str]:
    """What the comment line says about the problem."""
    for text in market.comments(data):
        if text.startswith(MARK):
            return dict(word.split("=", 1) for word in text[len(MARK) :].split() if "=" in word)
    return {}


def _beside(path: Path, part: str) -> Path | None:
    """The file next to A with its b or c; one packed like A comes first."""
    stem, own = _stem(path), _ending(path)
    endings = sorted(ENDINGS, key=lambda ending: ending != own)
    candidates = [path.with_name(f"{stem}{dot}{part}{ending}") for dot in "_." for ending in endings]
    return next((file for file in candidates if file.is_file()), None)


def _ending(path: Path) -> str:
    return ".mtx.gz" if path.name.lower().endswith(".mtx.gz") else ".mtx"


def _stem(path: Path) -> str:
    name = path.name
    return name[: -len(_ending(path))] if name.lower().endswith(ENDINGS) else name


def _is_one(weight: Any) -> bool:
    return isinstance(weight, float) and weight == 1
