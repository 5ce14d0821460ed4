"""What may be asked of `recover`."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, is_array, is_numpy, to_numpy
from dcra.losses import L1, Loss, as_loss
from dcra.model.checks import refuse_masked
from dcra.model.operators import DenseMatrix, MatrixFree, Operator, as_operator


class Asked(NamedTuple):
    """Checked arguments; `rows` (k, M) are the measurements."""

    A: Operator
    rows: Host
    sparsity: float | None
    lam: float | None
    noise: float | None
    loss: Loss | None
    time_limit: float | None
    starts: int | None


def check(
    A: Any,
    y: Any,
    sparsity: float | None,
    lam: float | None,
    noise: float | None,
    loss: str | Loss | None,
    time_limit: float | None,
    starts: int | None,
) -> Asked:
    """The arguments of `recover`, or an error that says what is wrong with them."""
    operator = as_operator(A)
    if operator.shape[1] < 2:
        raise ValueError(
            f"`A` must have at least two columns, one for each unknown; got shape {operator.shape}. "
            "Did you mean `A.T`?"
        )
    rows = _measurements(y, operator.shape)
    if operator.magnitude == 0:
        raise ValueError("`A` must not be all zero: y then says nothing about x")
    _number("sparsity", sparsity, "lie strictly between 0 and 1", lambda v: 0 < v < 1)
    _number("lam", lam, "be finite and not negative", lambda v: 0 <= v < inf)
    _number("noise", noise, "be finite and not negative", lambda v: 0 <= v < inf)
    _number("time_limit", time_limit, "be positive and finite", lambda v: 0 < v < inf)
    _number("starts", starts, "be at least 1", lambda v: v >= 1)
    chosen = None if loss is None else as_loss(loss)
    if noise == 0 and chosen is not None and not isinstance(chosen, L1):
        raise ValueError(
            f"`noise=0` and `loss={loss!r}` contradict each other: exact measurements leave no error "
            "to weigh; leave out one of them"
        )
    return Asked(_kept(operator), rows, sparsity, lam, noise, chosen, time_limit, starts)


def _measurements(y: Any, shape: tuple[int, int]) -> Host:
    refuse_masked("y", y)
    host = to_numpy(y) if is_array(y) else np.asarray(y)
    if host.dtype.kind not in "fiub":
        raise TypeError(f"`y` must hold real numbers; got dtype {host.dtype}")
    M, N = shape
    if host.ndim not in (1, 2) or host.shape[0] != M or host.size == 0:
        hint = " Did you mean `A.T`?" if host.shape[:1] == (N,) and M != N else ""
        raise ValueError(
            f"`y` must have shape ({M},) or ({M}, k) to match `A` of shape {shape}; got {host.shape}.{hint}"
        )
    if host.dtype.kind != "f":  # short integers would wrap around
        host = host.astype(np.float64)
    if not np.all(np.isfinite(host)):
        raise ValueError("`y` must be finite; it holds NaN or infinite entries")
    return np.ascontiguousarray(np.atleast_2d(host.T) if host.ndim == 1 else host.T)


def _kept(operator: Operator) -> Operator:
    """A on the host, in a form that need not be looked through again for every right-hand side."""
    if isinstance(operator, DenseMatrix):
        return operator if is_numpy(operator.A) else DenseMatrix(np.asarray(to_numpy(operator.A)))
    return replace(operator, watch=None) if isinstance(operator, MatrixFree) else operator


def _number(name: str, value: Any, need: str, allowed: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"`{name}` must be a number; got {value!r}")
    if not allowed(value):
        raise ValueError(f"`{name}` must {need}; got {value!r}")
