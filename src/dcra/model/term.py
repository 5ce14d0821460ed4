"""One term of a problem, checked: weight * f(A x - b)."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import numpy as np

from dcra._array import Array, device_of, is_array, is_numpy, namespace, to_numpy
from dcra.losses import Linear, Loss, as_loss
from dcra.messages import checked_keywords
from dcra.model.checks import is_foreign, most_squared, refuse_huge, refuse_masked, require_numbers
from dcra.model.numbers import as_numbers, no_numbers, not_finite
from dcra.model.operators import (
    Operator,
    all_finite,
    as_operator,
    count_stored,
    refuse_huge_entries,
    require_finite,
    watched,
)
from dcra.model.watch import Watch


@dataclass(frozen=True, eq=False)
class Term:
    """weight * f(A x - b).

    Parameters
    ----------
    loss : str or Loss
        f, by name, as in "l1" or "huber:threshold=2", or as an object of `dcra.losses`; or anything with
        `value` and `prox`.
    A : (r, n) array, scipy.sparse matrix or LinearOperator
    b : (r,) array or number
    weight : number or (r,) array
        Not negative, except for the linear loss. One weight per row needs a separable loss.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> term = dcra.Term("hinge", [[1.0, 1.0]], [1.0], weight=2.0)
    >>> float(term.value(np.array([1.0, 1.0])))
    2.0
    """

    loss: Any
    A: Any
    b: Array
    weight: float | Array = 1.0
    operator: Operator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        loss = as_loss(self.loss)
        operator = as_operator(self.A)
        r, n = operator.shape
        if r == 0 or n == 0:
            raise ValueError(f"`A` must have at least one row and one column; got shape {(r, n)}")
        require_finite("A", operator)
        like = operator.like
        b = vector("b", self.b, r, like, matrix=(r, n), scalar=True)
        weight = _weight(self.weight, r, like, loss)
        for name, value in (("loss", loss), ("operator", operator), ("b", b), ("weight", weight)):
            object.__setattr__(self, name, value)
        self._refuse_huge()
        if is_foreign(loss):
            z = operator.row_sums - b
            self.value_at(z)
            require_numbers(loss, "prox", loss.prox(z, 1.0), tuple(z.shape))

    def _refuse_huge(self) -> None:
        """Squares of residuals, summed, and of their products with weights, must be numbers.

        Those of residuals are bounded by (n + 1) (|A|^2 + |b|^2).
        """
        r, n = self.operator.shape
        entries = count_stored(self.operator)
        size = refuse_huge_entries("A", self.operator, most_squared(entries, n))
        squares = entries * size * size + refuse_huge("b", self.b, most_squared(r, n))
        refuse_huge("weight", self.weight, max(1.0, most_squared(r, n) / max(1.0, sqrt(squares))))

    def watched(self, watch: Watch) -> Term:
        """The same term with products that look at the clock."""
        twin = copy(self)
        object.__setattr__(twin, "operator", watched(self.operator, watch))
        return twin

    def residual(self, x: Array) -> Array:
        """A x - b in float64, for x of shape (..., n)."""
        return self.operator.exact_residual(x, self.b)

    def value(self, x: Array) -> Array:
        """weight * f(Ax - b)."""
        return self.value_at(self.residual(x))

    def value_at(self, z: Array) -> Array:
        """weight * f(z) for residuals z."""
        each = isinstance(self.weight, float)
        values = self.loss.value(z) if each else self.loss.values(z)
        if is_foreign(self.loss):
            require_numbers(self.loss, "value", values, tuple(z.shape[:-1] if each else z.shape))
        return self.weight * values if each else namespace(z).sum(self.weight * values, axis=-1)


type.__setattr__(Term, "__init__", checked_keywords(Term.__init__))  # which the dataclass has written


def vector(
    name: str,
    x: Any,
    size: int,
    like: Array,
    *,
    matrix: tuple[int, int] | None = None,
    scalar: bool = False,
) -> Array:
    """`x` as a finite float64 vector of length `size`, that of `matrix`, in the library of `like`."""
    xp = namespace(like)
    refuse_masked(name, x)
    if is_array(x) and namespace(x) is not xp:
        x = to_numpy(x)
    _require_real(name, x)
    array = xp.asarray(x, dtype=xp.float64, device=device_of(like))
    if scalar and array.ndim == 0:
        array = array + xp.zeros(size, dtype=xp.float64, device=device_of(like))
    got = tuple(array.shape)
    if got != (size,):
        ravel = f"; did you mean `np.ravel({name})`?" if prod(got) == size and len(got) > 1 else ""
        raise ValueError(f"`{name}` must have shape ({size},){_beside(matrix, got)}; got {got}{ravel}")
    if not all_finite(array):
        if np.ndim(x) == 0:
            raise ValueError(f"`{name}` must be finite; got {float(x):g}")
        host = to_numpy(array)
        k = int(np.argmin(np.isfinite(host)))
        raise not_finite(name, (k,), float(host[k]))
    return array


def _weight(weight: Any, r: int, like: Array, loss: Loss) -> float | Array:
    if not isinstance(weight, list | tuple) and np.ndim(weight) == 0:
        value = lowest = float(vector("weight", weight, 1, np.empty(0), scalar=True)[0])
    else:
        value = vector("weight", weight, r, like)
        lowest = float(namespace(value).min(value))
        if not loss.separable:
            raise ValueError(
                f"`weight` must be one number for {type(loss).__name__}, which is not separable; "
                f"got one per row"
            )
    if lowest < 0 and not isinstance(loss, Linear):
        raise ValueError(f"`weight` must not be negative (only the linear loss allows it); found {lowest:g}")
    return value


def _require_real(name: str, x: Any) -> None:
    if is_array(x) and not is_numpy(x):
        real = namespace(x).isdtype(x.dtype, ("bool", "integral", "real floating"))
    else:
        real = as_numbers(name, x).dtype.kind != "c"
    if not real:
        raise no_numbers(name, x)


def _beside(matrix: tuple[int, int] | None, got: tuple[int, ...]) -> str:
    """What a vector of the wrong length should have matched."""
    if matrix is None:
        return ""
    turned = got == matrix[1:] and matrix[0] != matrix[1]
    return f" to match `A` of shape {matrix}" + (" (did you mean `A.T`?)" if turned else "")
