"""NumPy archives: every part of a problem is an array under its own name.

    A                                      dense, (r, n); or, sparse,
    A_data A_indices A_indptr A_shape      its parts in CSC form, or in what `A_format` says (csc, csr)
    b                                      (r,) or one number
    loss weights                           a word such as "l1" or "huber:threshold=2"; (r,) or one number
    c constant domain                      linear term (n,), number, "spin" or "binary"
    G low high                             constraints low <= Gx <= high: (q, n) or in parts as A; (q,) each
    Q                                      quadratic term, dense or in the parts of a sparse matrix like A

All but A and b may be missing. The parts of further terms end in _1, _2 and so on. Nothing is unpickled.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.foreign import importing
from dcra.io.archive import load
from dcra.io.contents import replacing
from dcra.io.coordinates import cut
from dcra.io.limits import check_declared
from dcra.io.text import loss_text, parse_loss
from dcra.model.constraints import StatedRows
from dcra.model.operators import MatrixFree, Operator, SparseMatrix
from dcra.model.problem import Problem
from dcra.model.term import Term

Arrays = Mapping[str, Host]

TERM = ("A", "b", "loss", "weights")
PARTS = ("_data", "_indices", "_indptr", "_shape")
SPARSE = tuple(f"A{part}" for part in PARTS)
WHOLE = ("c", "constant", "domain", "Q", "Q_format", *(f"Q{part}" for part in PARTS))
ROWS = ("G", *(f"G{part}" for part in PARTS), "G_format", "low", "high")


def read(path: Path, b: Path | None) -> Problem:
    if b is not None:
        raise ValueError("an .npz file holds its own `b`; no other file is needed")
    return problem_from(load(path), path.stat().st_size)


def write(path: Path, problem: Problem) -> None:
    arrays = arrays_of(problem)
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)


def problem_from(arrays: Arrays, length: int = 0) -> Problem:
    """A problem from its named parts; `length` is that of the file they come from."""
    suffixes = [""]
    while f"b_{len(suffixes)}" in arrays:
        suffixes.append(f"_{len(suffixes)}")
    _refuse_unknown(arrays, suffixes)
    _check_shapes(arrays, length)
    terms = [_term(arrays, suffix) for suffix in suffixes if suffix or _has_term(arrays)]
    return Problem(
        terms,
        linear=arrays.get("c"),
        quadratic=_matrix(arrays, "Q") if "Q" in arrays or "Q_data" in arrays else None,
        constant=_number(arrays, "constant", 0.0),
        domain=_word(arrays, "domain", "spin"),
        constraints=_constraints(arrays),
    )


def arrays_of(problem: Problem) -> dict[str, Any]:
    """The named parts of a problem."""
    arrays: dict[str, Any] = {"domain": np.asarray(problem.domain)}
    for i, term in enumerate(problem.terms):
        suffix = f"_{i}" if i else ""
        parts = {
            **_matrix_parts("A", term.operator),
            "b": to_numpy(term.b),
            "loss": np.asarray(loss_text(term.loss)),
        }
        if not (isinstance(term.weight, float) and term.weight == 1):
            parts["weights"] = to_numpy(term.weight)
        arrays |= {name + suffix: part for name, part in parts.items()}
    if problem.quadratic is not None:
        arrays |= _matrix_parts("Q", problem.quadratic.operator)
    if problem.linear is not None:
        arrays["c"] = to_numpy(problem.linear)
    if problem.constraints is not None:
        rows = problem.constraints
        arrays |= {"low": rows.low, "high": rows.high, **_sparse_parts("G", rows.G.tocsc())}
    if problem.constant:
        arrays["constant"] = np.asarray(problem.constant)
    return arrays


def _has_term(arrays: Arrays) -> bool:
    """Whether there is a first term; a file with `c` or Q alone is a problem too."""
    alone = any(name in arrays for name in ("c", "Q", "Q_data"))
    return not alone or any(name in arrays for name in (*TERM, *SPARSE))


def _refuse_unknown(arrays: Arrays, suffixes: list[str]) -> None:
    """A misspelt name must not be a part that is silently left out."""
    if {"format", "shape", "data"} <= arrays.keys():
        raise ValueError(
            "this is a matrix of scipy.sparse, not a problem; take it by `scipy.sparse.load_npz` and give it "
            "to `dcra.minimize`, as A with its b, or as `quadratic` to `dcra.Problem`"
        )
    known = {name + suffix for name in (*TERM, *SPARSE, "A_format") for suffix in suffixes} | {*WHOLE, *ROWS}
    unknown = [name for name in arrays if name not in known]
    if unknown:
        names = ", ".join((*TERM, *WHOLE, *SPARSE, "A_format", *ROWS))
        more = f" and {len(unknown) - 5} others" if len(unknown) > 5 else ""
        raise ValueError(f"unknown arrays {', '.join(unknown[:5])}{more}; known are {names}")


def _check_shapes(arrays: Arrays, length: int) -> None:
    """Sparse matrices promise a shape; what they hold must bear it out."""
    for name, shape in arrays.items():
        if "_shape" not in name:
            continue
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or min(shape.tolist()) < 0:
            raise ValueError(f"`{name}` must hold two integers; got {cut(shape.tolist())}")
        entries = max(arrays.get(name.replace("_shape", part), shape).size for part in ("_data", "_indptr"))
        for size in shape.tolist():
            check_declared(size, "a size", f"`{name}`", entries, length)


def _term(arrays: Arrays, suffix: str) -> Term:
    A = _matrix(arrays, "A", suffix)
    b = _required(arrays, "b" + suffix)
    loss = parse_loss(_word(arrays, "loss" + suffix, "l1"))
    return Term(loss, A, b, arrays.get("weights" + suffix, 1.0))


def _constraints(arrays: Arrays) -> Any:
    if not any(name in arrays for name in ROWS):
        return ()
    return StatedRows(_matrix(arrays, "G"), arrays.get("low", -np.inf), arrays.get("high", np.inf))


def _matrix(arrays: Arrays, name: str, suffix: str = "") -> Any:
    if f"{name}_data{suffix}" not in arrays:
        return _required(arrays, name + suffix)
    with importing():
        from scipy import sparse

    data, indices, indptr, shape = (_required(arrays, f"{name}{part}{suffix}") for part in PARTS)
    kinds = {"csc": sparse.csc_array, "csr": sparse.csr_array}
    layout = _word(arrays, f"{name}_format{suffix}", "csc")
    if layout not in kinds:
        raise ValueError(f"`{name}_format{suffix}` must be csc or csr; got {layout!r}")
    A = kinds[layout]((data, indices, indptr), shape=tuple(int(size) for size in shape))
    A.check_format(full_check=True)
    return A


def _matrix_parts(name: str, operator: Operator) -> dict[str, Any]:
    if isinstance(operator, MatrixFree):
        raise ValueError(f"`{name}` is an operator without a matrix and cannot be written to a file")
    if isinstance(operator, SparseMatrix):
        return _sparse_parts(name, operator.A)
    return {name: to_numpy(operator.A)}


def _sparse_parts(name: str, A: Any) -> dict[str, Any]:
    return {
        f"{name}_data": A.data,
        f"{name}_indices": A.indices,
        f"{name}_indptr": A.indptr,
        f"{name}_shape": np.asarray(A.shape),
    }


def _required(arrays: Arrays, name: str) -> Host:
    if name not in arrays:
        raise ValueError(f"`{name}` is missing; the file holds {', '.join(arrays) or 'nothing'}")
    return arrays[name]


def _word(arrays: Arrays, name: str, default: str) -> str:
    if name not in arrays:
        return default
    value = arrays[name]
    if value.ndim or value.dtype.kind not in "US":
        raise ValueError(f"`{name}` must be one string; got dtype {value.dtype}, shape {value.shape}")
    wide = value.dtype.kind == "U"
    codes = np.frombuffer(value.tobytes(), value.dtype.str[0] + "u4" if wide else "u1")
    if np.any(codes > (sys.maxunicode if wide else 127)):  # NumPy takes any number for a character
        raise ValueError(f"`{name}` must be one string; it has characters that do not exist")
    word = value.item()
    return word.decode() if isinstance(word, bytes) else str(word)


def _number(arrays: Arrays, name: str, default: float) -> float:
    if name not in arrays:
        return default
    value = arrays[name]
    if value.size != 1 or value.dtype.kind not in "fiub":
        raise ValueError(f"`{name}` must be one number; got dtype {value.dtype}, shape {value.shape}")
    return float(value.item())
