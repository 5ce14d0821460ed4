"""Bounded integers: x = low + W t with bits t, and problems over them.

A range of width w has k bits, k the length of w in binary: of weight 1, 2, 4, ... and a last one that makes
up the rest, so that all sums lie within the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, is_array, is_numpy, namespace, to_numpy
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.checks import refuse_masked
from dcra.model.constraints import (
    Cardinality,
    Constraints,
    StatedRows,
    Worded,
    block_of,
    moved,
    named,
    unknown_constraint,
)
from dcra.model.logic import least_variables
from dcra.model.operators import MatrixFree, Operator
from dcra.model.problem import Problem
from dcra.model.rounding import largest_error
from dcra.model.soft import Soft
from dcra.model.term import Term

WIDEST = 1 << 20
"""Most that `high` may be above `low`."""

LARGEST = 1 << 53
"""Up to here float64 holds all whole numbers."""


@dataclass(frozen=True, eq=False)
class Integers:
    """A domain: whole numbers from `low` to `high`, each a number or one for every variable."""

    low: Any
    high: Any

    def ends(self, n: int) -> tuple[Host, Host]:
        """Both ends of all n variables."""
        return tuple(_spread(name, getattr(self, name), n) for name in ("low", "high"))  # type: ignore[return-value]


def integers(low: Any, high: Any) -> Integers:
    """The domain of whole numbers from `low` to `high`, ends included.

    Parameters
    ----------
    low, high : int or (n,) array of int
        One number for all variables, or one for each; from -2^53 to 2^53, at most 2^20 apart.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> dcra.minimize(np.array([[2.0, 3.0]]), [17.0], domain=dcra.integers(0, [4, 3])).x
    array([4., 3.])
    """
    for name, end in (("low", low), ("high", high)):
        refuse_masked(name, end)
        array = np.asarray(end)
        _refuse_large(name, end)
        if array.dtype.kind not in "iuf" or array.ndim > 1:
            raise TypeError(f"`{name}` must be whole numbers, one or one for each variable; got {shown(end)}")
        if not np.all(np.isfinite(array)) or not np.all(np.rint(array) == array):
            raise ValueError(f"`{name}` must be whole numbers; got {array.ravel()[0]!r}")
    width = np.asarray(high, float) - np.asarray(low, float)
    if np.any(width < 0):
        raise ValueError("`low` must not be above `high`")
    if np.any(width > WIDEST):
        raise ValueError(f"`high` must be at most 2^20 above `low`; found {np.max(width):g}")
    return Integers(low, high)


def _refuse_large(name: str, end: Any) -> None:
    """Refuse numbers as they came: in float64 they may be others already."""
    array = np.asarray(end)
    if isinstance(end, np.ndarray) and array.dtype.kind in "iuf":  # these are what they were
        beyond = (array > LARGEST) | (array < -LARGEST)
        array = array[beyond & np.isfinite(array)][:1]
    else:
        array = np.asarray(end, object)
    for one in array.ravel().tolist():
        number = isinstance(one, int | float | np.integer | np.floating)
        if number and (LARGEST < one < inf or -inf < one < -LARGEST):
            raise ValueError(
                f"`{name}` must lie from -2^53 to 2^53, where float64 holds all whole numbers; found {one}. "
                f"Shift the variables: x = s + z with s near `low`, and z from 0"
            )


class IntegerProblem:
    """minimise sum_t w_t f_t(A_t x - b_t) + c'x + x'Qx + constant over whole numbers low <= x <= high.

    Parameters
    ----------
    terms, linear, quadratic, constant
        As those of `Problem`.
    domain : Integers
        Made by `dcra.integers`.
    constraints : LinearConstraint, `soft` of one, or a sequence or mapping of them

    Attributes
    ----------
    bits : Problem
        The same problem over the bits t of x = low + W t.
    error : float
        What rounding of the parts that `low` takes may cost the objective, at two points; 0 if not known.
    """

    def __init__(
        self,
        terms: tuple[Term, ...] | list[Term] = (),
        *,
        domain: Integers,
        linear: Array | None = None,
        quadratic: Any = None,
        constant: float = 0.0,
        constraints: Any = (),
    ) -> None:
        if not isinstance(domain, Integers):
            raise TypeError(f"`domain` must be made by dcra.integers; got {shown(domain)}")
        rows = named(constraints)
        for name, one in rows.items():
            inner = one.constraint if isinstance(one, Soft) else one
            if isinstance(inner, Cardinality | Worded):
                raise TypeError(f"`{name}` counts variables that are up; integers take a LinearConstraint")
        if not terms and linear is None and quadratic is None and rows:
            name, first = next(iter(rows.items()))
            inner = first.constraint if isinstance(first, Soft) else first
            if not least_variables(inner):
                raise TypeError(unknown_constraint(name, inner))
            linear = np.zeros(least_variables(inner))
        self.model = Problem(
            terms, linear=linear, quadratic=quadratic, constant=constant, domain="binary"
        )  # its objective is ours, at any point
        self.n = self.model.n
        self.low, self.high = domain.ends(self.n)
        self.reach = self.low, self.high  # what a descent may use of the ranges
        self.given = rows
        self.bits = self._over_bits()
        error = 2 * largest_error(self.model, float(np.max(np.abs(self.reach))))
        self.error = error if isfinite(error) else 0.0

    def __repr__(self) -> str:
        return f"IntegerProblem({self.n} variables, {self.bits.n} bits)"

    @cached_property
    def weights(self) -> Any:
        """W, (n, bits), sparse."""
        with importing():
            from scipy import sparse

        parts = [bit_weights(int(width)) for width in self.high - self.low]
        if not any(map(len, parts)):  # a single point: one bit that counts nothing
            parts[0] = np.zeros(1)
        row = np.repeat(np.arange(self.n), [len(part) for part in parts])
        values = np.concatenate(parts)
        return sparse.csr_array((values, (row, np.arange(row.size))), shape=(self.n, row.size))

    def _over_bits(self) -> Problem:
        W, model = self.weights, self.model
        low = from_numpy(self.low, model.like, namespace(model.like).float64)
        linear = np.zeros(self.n) if model.linear is None else to_numpy(model.linear)
        constant = model.constant + float(linear @ self.low)
        Q = model.quadratic
        if Q is not None:
            image = to_numpy(Q.apply(low))
            constant += float(self.low @ image)
            linear = linear + 2 * image
        return Problem(
            [Term(t.loss, _times(t.operator, W), -t.residual(low), t.weight) for t in model.terms],
            linear=np.asarray(linear @ W),
            quadratic=None if Q is None else _between(Q.operator, W),
            constant=constant,
            domain="binary",
            constraints={name: self._row(name, one) for name, one in self.given.items()},
        )

    def _row(self, name: str, one: Any) -> Any:
        if isinstance(one, Soft):
            return Soft(self._row(name, one.constraint), one.weight)
        block = block_of(name, one, self.n, (0.0, 1.0))
        ends, slack = moved(block, self.low, float(np.max(np.abs(self.reach))))
        return StatedRows(block.G @ self.weights, *ends, block.names, slack)

    def with_one_code(self) -> Problem:
        """`bits`, with rows that leave every number one code, that of `bits_of`.

        The last bit of weight w beside m others is up only where these make up 2^m - w or more.
        """
        G, others = self.weights.copy(), np.diff(self.weights.indptr) - 1
        last = self.weights.indptr[1:] - 1
        several = np.flatnonzero((others > 0) & (G.data[last] < 2.0**others))
        if not several.size:
            return self.bits
        G.data[last[several]] -= 2.0 ** others[several]
        ends = np.zeros(several.size), np.full(several.size, np.inf)
        stated = StatedRows(G[several], *ends, [f"code of variable {j}" for j in several])
        rules = self.bits.constraints
        known: dict[str, Any] = {} if rules is None else {"stated": rules.stated()}
        twin = self.bits.replace(constraints=known | {"codes": stated})
        twin.soft = self.bits.soft  # terms of the objective already
        return twin

    def decode(self, t: Host) -> Host:
        """Whole numbers (..., n) from bits (..., bits)."""
        flat = t.reshape(-1, t.shape[-1])
        return np.asarray((self.weights @ flat.T).T).reshape(*t.shape[:-1], self.n) + self.low

    def encode(self, name: str, x: Any) -> Host:
        """Bits (k, bits) of points; NaN, or what a mapping leaves out, is NaN in all bits of a variable."""
        if isinstance(x, Mapping):
            x = self._from_mapping(name, x)
        refuse_masked(name, x)
        try:
            host = np.atleast_2d(np.asarray(to_numpy(x) if is_array(x) else x, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise TypeError(f"`{name}` must hold numbers; got {shown(x)}") from error
        if host.ndim != 2 or host.shape[1] != self.n:
            raise ValueError(f"`{name}` must have shape ({self.n},) or (k, {self.n}); got {np.shape(x)}")
        free = np.isnan(host)
        wrong = ~free & ((host < self.low) | (host > self.high) | (np.rint(host) != host))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"`{name}` must hold whole numbers from {self.low[j]:g} to {self.high[j]:g} for variable "
                f"{j}; found {host[i, j]:g}"
            )
        parts = [bits_of(host[:, j] - self.low[j], int(self.high[j] - self.low[j])) for j in range(self.n)]
        bits = np.concatenate(parts, axis=1)
        return bits if bits.shape[1] else np.where(free[:, :1], np.nan, 0.0)

    def fixed_bits(self, fixed: Any) -> Host:
        """`fixed` as {index: value} or an array with NaN, in bits."""
        return np.asarray(self.encode("fixed", fixed)[0])

    def _from_mapping(self, name: str, given: Mapping[Any, Any]) -> Host:
        """{index: value} as an array with NaN."""
        values = np.full(self.n, np.nan)
        for index, value in given.items():
            if isinstance(index, bool) or not isinstance(index, int | np.integer):
                raise TypeError(f"`{name}` must name variables by their index, an integer; got {index!r}")
            if not -self.n <= index < self.n:
                raise ValueError(f"`{name}` must name variables in [0, {self.n}); found {index}")
            values[index] = value
        return values

    def narrowed(self, fixed: Any) -> IntegerProblem:
        """The same problem with ranges of one number where variables are fixed, for looking at points."""
        values = self.decode(np.nan_to_num(self.fixed_bits(fixed)))
        known = ~np.isnan(self._marked(fixed))
        twin = copy(self)
        twin.reach = np.where(known, values, self.low), np.where(known, values, self.high)
        return twin

    def _marked(self, fixed: Any) -> Host:
        bits = self.fixed_bits(fixed)
        return np.asarray(self.weights @ bits)

    def objective(self, x: Any) -> Any:
        """F(x) in float64: a float for x of shape (n,), (k,) for (k, n)."""
        values = self.bits.objective(self.encode("x", x))
        return float(values[0]) if np.ndim(x) == 1 else values

    def violation(self, x: Any) -> Any:
        """By how much the worst constraint is violated; a float for x of shape (n,), (k,) for (k, n)."""
        worst = self.bits.violation(self.encode("x", x))
        return float(worst[0]) if np.ndim(x) == 1 else worst

    @property
    def constraints(self) -> Constraints | None:
        """Those on the bits behind the whole numbers; None where there are none."""
        return self.bits.constraints


def bit_weights(width: int) -> Host:
    """What the bits of a range 0, 1, ..., width count."""
    if width == 0:
        return np.empty(0)
    count = width.bit_length()
    weights = 2.0 ** np.arange(count)
    weights[-1] = width - (2 ** (count - 1) - 1)
    return weights


def bits_of(values: Host, width: int) -> Host:
    """Bits (k, count) of values in 0, 1, ..., width."""
    weights = bit_weights(width)
    bits = np.empty((values.size, weights.size))
    if not weights.size:
        return bits
    most = float(np.sum(weights[:-1]))
    last = values > most
    rest = np.where(last, values - weights[-1], values)
    known = ~np.isnan(values)
    whole = np.where(known, rest, 0).astype(np.int64)
    bits[:, :-1] = (whole[:, None] >> np.arange(weights.size - 1)) & 1
    bits[:, -1] = last
    bits[~known] = np.nan
    return bits


def _times(operator: Operator, W: Any) -> Any:
    """A W, in the library of A."""
    if isinstance(operator, MatrixFree):
        with importing():
            from scipy.sparse.linalg import aslinearoperator
        return operator.A @ aslinearoperator(W)
    A = operator.A
    if operator.sparse or is_numpy(A):
        return _narrowed(A.astype(np.float64) @ W, A.dtype)
    return _narrowed(_widened(A) @ _widened(from_numpy(W.toarray(), A)), A.dtype)


def _between(operator: Operator, W: Any) -> Any:
    """W'QW."""
    product = _times(operator, W)
    if isinstance(operator, MatrixFree):
        with importing():
            from scipy.sparse.linalg import aslinearoperator
        return aslinearoperator(W.T.tocsr()) @ product
    if operator.sparse:
        return _narrowed(W.T @ product.astype(np.float64), product.dtype)
    if is_numpy(product):
        return _narrowed(np.asarray(W.T @ product.astype(np.float64)), product.dtype)
    return _narrowed(_widened(from_numpy(W.toarray(), product)).T @ _widened(product), product.dtype)


def _widened(A: Array) -> Array:
    xp = namespace(A)
    return xp.astype(A, xp.float64)


def _narrowed(wide: Any, dtype: Any) -> Any:
    """The same numbers in a shorter type where it holds them: products of numbers of 24 bits have more."""
    if wide.dtype == dtype:
        return wide
    if is_array(wide):
        xp = namespace(wide)
        narrow = xp.astype(wide, dtype)
        return narrow if bool(xp.all(narrow == wide)) else wide
    narrow = wide.astype(dtype)
    return narrow if np.array_equal(narrow.data, wide.data) else wide


def _spread(name: str, end: Any, n: int) -> Host:
    array = np.asarray(end, dtype=np.float64)
    if array.ndim == 1 and array.size != n:
        raise ValueError(f"`{name}` of the integers must be a number or have shape ({n},); got {array.shape}")
    return np.broadcast_to(array, (n,)).copy()
