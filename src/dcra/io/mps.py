"""MPS and LP files whose variables are all binary, by way of HiGHS (`pip install 'dcra[mps]'`).

minimise c'x + constant subject to low <= G x <= high, x in {0,1}^n; c is negated where the file maximises.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.messages import missing
from dcra.model.problem import Problem

SHOWN = 3
"""Names of variables given in a complaint."""


def read(path: Path, b: Path | None = None) -> Problem:
    if b is not None:
        raise ValueError("a model file holds its own right-hand side; no other file is needed")
    from scipy.optimize import LinearConstraint

    model = _model(path)
    lp = model.lp_
    if model.hessian_.dim_:
        raise ValueError("the objective is quadratic; only linear ones are read from model files")
    _require_binary(lp)
    sign = -1.0 if "kMaximize" in str(lp.sense_) else 1.0
    G, low, high = _rows(lp)
    return Problem(
        linear=sign * np.asarray(lp.col_cost_, float),
        constant=sign * float(lp.offset_),
        domain="binary",
        constraints=LinearConstraint(G, low, high) if G.shape[0] else (),
    )


def write(path: Path, problem: Problem) -> None:
    raise ValueError(f"{path}: model files are read only; write an .npz file instead")


def _model(path: Path) -> Any:
    try:
        import highspy
    except ImportError as error:
        raise ImportError(missing("reading model files", "highspy", "mps", error)) from error
    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    if solver.readModel(str(path)) == highspy.HighsStatus.kError:
        raise ValueError("not a model that HiGHS can read")
    model = solver.getModel()
    if model.lp_.num_col_ == 0:
        raise ValueError("the model has no variables")
    return model


def _require_binary(lp: Any) -> None:
    integral = np.asarray(["kContinuous" not in str(kind) for kind in lp.integrality_], bool)
    if integral.size == 0:
        integral = np.zeros(lp.num_col_, bool)
    low, high = np.asarray(lp.col_lower_), np.asarray(lp.col_upper_)
    fixed = (low == high) & np.isin(low, (0.0, 1.0))
    within = (low >= 0) & (high <= 1)
    _refuse(lp, ~integral & ~fixed, "continuous")
    _refuse(lp, ~within, "not binary (bounds other than 0 and 1)")


def _refuse(lp: Any, wrong: Host, what: str) -> None:
    index = np.flatnonzero(wrong)
    if index.size == 0:
        return
    names = [str(lp.col_names_[j]) if len(lp.col_names_) else f"number {j}" for j in index[:SHOWN]]
    more = f" and {index.size - SHOWN} others" if index.size > SHOWN else ""
    raise ValueError(
        f"all variables must be binary; {', '.join(names)}{more} {'is' if index.size == 1 else 'are'} {what}"
    )


def _rows(lp: Any) -> tuple[Any, Any, Any]:
    """The rows of the model, and x_j = value for variables that it fixes."""
    from scipy import sparse

    matrix = lp.a_matrix_
    parts = (np.asarray(matrix.value_), np.asarray(matrix.index_), np.asarray(matrix.start_))
    by_columns = "kColwise" in str(matrix.format_)
    kind = sparse.csc_array if by_columns else sparse.csr_array
    G = kind(parts, shape=(lp.num_row_, lp.num_col_))
    low, high = np.asarray(lp.col_lower_), np.asarray(lp.col_upper_)
    tight = np.flatnonzero((low > 0) | (high < 1))
    unit = sparse.csr_array(
        (np.ones(tight.size), (np.arange(tight.size), tight)), shape=(tight.size, lp.num_col_)
    )
    return (
        sparse.vstack([G, unit], format="csr"),
        np.append(lp.row_lower_, np.ceil(low[tight])),
        np.append(lp.row_upper_, np.floor(high[tight])),
    )
