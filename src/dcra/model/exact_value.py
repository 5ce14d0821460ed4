"""An objective without rounding, by fractions: what decides between points that float64 cannot tell apart."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.losses import CappedL1, LInf, Loss, TableLoss
from dcra.model.operators import MatrixFree, Operator
from dcra.model.problem import Problem
from dcra.model.term import Term


def exact_value(problem: Problem, x: Host) -> Fraction | None:
    """F(x), x (n,), of the numbers as they are stored; None where a loss is not rational."""
    total = Fraction(problem.constant)
    for term in problem.terms:
        value = _term_value(term, x)
        if value is None:
            return None
        total += value
    if problem.linear is not None:
        total += _product(to_numpy(problem.linear), x)
    if problem.quadratic is not None:
        if problem.quadratic.matrix_free:
            return None
        rows = _dense(problem.quadratic.operator)
        total += sum(Fraction(float(v)) * _product(row, x) for v, row in zip(x, rows, strict=True) if v)
    return total


def is_rational(term: Term) -> bool:
    """Whether there is a value without rounding."""
    return isinstance(term.loss, TableLoss | CappedL1 | LInf) and not isinstance(term.operator, MatrixFree)


def _term_value(term: Term, x: Host) -> Fraction | None:
    if not is_rational(term):
        return None
    rows, b = _dense(term.operator), to_numpy(term.b)
    z = [_product(row, x) - Fraction(float(end)) for row, end in zip(rows, b, strict=True)]
    if isinstance(term.loss, LInf):
        return Fraction(float(to_numpy(term.weight))) * max(map(abs, z))
    weights = np.broadcast_to(to_numpy(term.weight), len(z))
    return sum(
        (Fraction(float(w)) * _row_value(term.loss, u) for w, u in zip(weights, z, strict=True)), Fraction(0)
    )


def _row_value(loss: Loss, z: Fraction) -> Fraction:
    if isinstance(loss, CappedL1):
        return min(abs(z), Fraction(loss.cap))
    assert isinstance(loss, TableLoss)
    k, e, lo, hi = loss.table
    excess = max(abs(z) - Fraction(e), Fraction(0)) * (1 if z > 0 else -1)
    if k > 0:
        g = excess / Fraction(k)
        g = max(g, Fraction(lo)) if isfinite(lo) else g
        g = min(g, Fraction(hi)) if isfinite(hi) else g
    else:
        g = Fraction(hi if excess > 0 else lo if excess < 0 else min(max(0.0, lo), hi))
    return z * g - Fraction(k) * g * g / 2 - Fraction(e) * abs(g)


def _product(row: Host, x: Host) -> Fraction:
    """Sum of a_j x_j for x of -1, 0 and 1, as whole numbers of the smallest unit that occurs."""
    parts, exponents = np.frexp(np.asarray(row, np.float64))
    least = int(exponents.min(initial=0))
    whole = [int(part) << (int(e) - least) for part, e in zip(parts * 2.0**53, exponents, strict=True)]
    total = sum(part * int(v) for part, v in zip(whole, x, strict=True))
    return Fraction(total) * Fraction(2) ** (least - 53)


def _dense(operator: Operator) -> Any:
    """The numbers as they are stored, rows first."""
    return operator.dense()
