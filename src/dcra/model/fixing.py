"""Some variables fixed for good: the problem of the others, and points with all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from dcra._array import Array, Host, device_of, from_numpy, is_array, is_numpy, namespace, to_numpy
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.checks import refuse_masked
from dcra.model.constraints import StatedRows, less, spacing
from dcra.model.operators import DenseMatrix, MatrixFree, Operator, SparseMatrix
from dcra.model.problem import DOMAINS, Problem
from dcra.model.rounding import largest_error
from dcra.model.term import Term


@dataclass(frozen=True, eq=False)
class Fixing:
    """A problem some of whose variables have a value already.

    Parameters
    ----------
    whole : Problem
    values : (n,) array
        The values; NaN for variables that are free.
    """

    whole: Problem
    values: Host

    @cached_property
    def free(self) -> Host:
        """Indices of the variables that are left."""
        return np.flatnonzero(np.isnan(self.values))

    @cached_property
    def base(self) -> Host:
        """The point with zeros where variables are free."""
        return np.where(np.isnan(self.values), 0.0, self.values)

    @cached_property
    def problem(self) -> Problem:
        """The problem of the variables that are left; there must be one."""
        whole, point = self.whole, from_numpy(self.base, self.whole.like, self._wide)
        linear = None if whole.linear is None else to_numpy(whole.linear)
        constant = whole.constant + (0.0 if linear is None else float(linear @ self.base))
        linear = None if linear is None else linear[self.free]
        form = whole.quadratic
        if form is not None:
            image = to_numpy(form.apply(point))
            constant += float(self.base @ image)
            linear = 2 * image[self.free] + (0.0 if linear is None else linear)
        return Problem(
            [self._term(term, point) for term in whole.terms],
            linear=linear,
            quadratic=None if form is None else replace(form, kept=self._both(form.operator), apart=None),
            constant=constant,
            domain=whole.domain,
            constraints=self._rows(),
        )

    @cached_property
    def error(self) -> float:
        """What rounding of the parts that are fixed may cost the objective, at two points; 0 if not known."""
        error = 2 * largest_error(self.whole)
        return error if isfinite(error) else 0.0

    @property
    def _wide(self) -> Any:
        return namespace(self.whole.like).float64

    def _term(self, term: Term, point: Array) -> Term:
        return Term(term.loss, self._columns(term.operator), -term.residual(point), term.weight)

    def _rows(self) -> Any:
        rows = self.whole.constraints
        if rows is None:
            return ()
        low, high = (less(rows.G, end, self.base, rows.whole) for end in (rows.low, rows.high))
        slack = rows.slack + np.where(rows.whole, 0.0, spacing(low, high))  # no point of the whole is lost
        return StatedRows(rows.G[:, self.free], low, high, rows.names, slack)

    def _columns(self, operator: Operator) -> Operator:
        """The columns of the variables that are left."""
        if isinstance(operator, MatrixFree):
            return MatrixFree(_restricted(operator.A, self.free, rows=False), operator.watch)
        if isinstance(operator, SparseMatrix):
            return SparseMatrix(operator.A[:, self.free], operator.watch)
        return DenseMatrix(_take(operator.A, self.free, 1), operator.watch)

    def _both(self, operator: Operator) -> Operator:
        """Rows and columns of the variables that are left."""
        if isinstance(operator, MatrixFree):
            return MatrixFree(_restricted(operator.A, self.free, rows=True), operator.watch)
        return self._columns(operator).rows(self.free)  # type: ignore[union-attr]

    def complete(self, x: Host) -> Host:
        """Points (..., n) with all variables from points of those that are left."""
        full = np.broadcast_to(self.base, (*x.shape[:-1], self.values.size)).copy()
        full[..., self.free] = x
        return full


def fixing(problem: Problem, fixed: Any) -> Fixing:
    """Check `fixed`: {index or name: value}, or an array (n,) with NaN for variables that are free."""
    pairs = isinstance(fixed, Mapping)
    values = _from_pairs(problem, "fixed", fixed) if pairs else _from_array(problem, fixed)
    _require_values("fixed", values, problem.domain)
    return Fixing(problem, values)


def partial_points(problem: Problem, name: str, x: Any) -> Host:
    """Points (k, n) on the host, with NaN for what is not given; an error for what is no point."""
    refuse_masked(name, x)
    x = _from_pairs(problem, name, x) if isinstance(x, Mapping) else x
    try:
        host = np.asarray(to_numpy(x) if is_array(x) and not is_numpy(x) else x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must hold numbers; got {shown(x)}") from error
    given = np.where(np.isnan(host), DOMAINS[problem.domain][0], host)
    problem.check_point(name, given)
    return np.atleast_2d(host)


def _from_pairs(problem: Problem, name: str, given: Mapping[Any, Any]) -> Host:
    n, values = problem.n, np.full(problem.n, np.nan)
    places = {label: i for i, label in enumerate(problem.variable_names)}
    for key, value in given.items():
        index = places[key] if key in places else _index(name, key, problem)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"`{name}` must hold numbers; variable {key} has {value!r}") from error
        if not np.isnan(values[index]) and values[index] != number:
            raise ValueError(f"`{name}` gives variable {index % n} two values")
        if np.isnan(number):
            raise ValueError(f"`{name}` must hold numbers; variable {key} has NaN: leave it out instead")
        values[index] = number
    return values


def _index(name: str, key: Any, problem: Problem) -> int:
    """The index that a key is; whole numbers that are names of some variables are no indices of others."""
    names = problem.variable_names
    whole = isinstance(key, int | np.integer) and not isinstance(key, bool)
    if names and (not whole or any(isinstance(label, int | np.integer) for label in names)):
        from difflib import get_close_matches

        near = get_close_matches(str(key), [str(label) for label in names], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"`{name}` must name variables of the problem; it has none named {key!r}{hint}")
    if not whole:
        raise TypeError(f"`{name}` must name variables by their index, an integer; got {key!r}")
    if not -problem.n <= key < problem.n:
        raise ValueError(f"`{name}` must name variables in [0, {problem.n}); found {key}")
    return int(key)


def _from_array(problem: Problem, fixed: Any) -> Host:
    refuse_masked("fixed", fixed)
    try:
        values = np.array(to_numpy(fixed) if is_array(fixed) else fixed, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`fixed` must be {{index: value}} or an array; got {shown(fixed)}") from error
    if values.shape != (problem.n,):
        raise ValueError(
            f"`fixed` must have shape ({problem.n},), with NaN for variables that are free; "
            f"got {values.shape}"
        )
    return values


def _require_values(name: str, values: Host, domain: str) -> None:
    low, high = DOMAINS[domain]
    wrong = values[~np.isnan(values) & (values != low) & (values != high)]
    if wrong.size:
        raise ValueError(
            f"`{name}` must hold only {low:g} and {high:g} for the {domain} domain; found {wrong[0]:g}"
        )


def _take(A: Array, index: Host, axis: int) -> Array:
    xp = namespace(A)
    return A[:, index] if is_numpy(A) else xp.take(A, xp.asarray(index, device=device_of(A)), axis=axis)


def _restricted(A: Any, free: Host, rows: bool) -> Any:
    """The operator A on the free variables alone, and where `rows` is true, of their rows."""
    with importing():
        from scipy.sparse.linalg import LinearOperator

    count, n = A.shape

    def spread(u: Host, size: int) -> Host:
        full = np.zeros((size, u.shape[1]))
        full[free] = u
        return full

    def matmat(u: Host) -> Host:
        image = A.matmat(spread(u, n))
        return np.asarray(image[free] if rows else image)

    def rmatmat(v: Host) -> Host:
        return np.asarray(A.rmatmat(spread(v, count) if rows else v)[free])

    return LinearOperator(
        (free.size if rows else count, free.size),
        matvec=lambda u: matmat(u.reshape(-1, 1)).ravel(),
        rmatvec=lambda v: rmatmat(v.reshape(-1, 1)).ravel(),
        matmat=matmat,
        rmatmat=rmatmat,
        dtype=np.float64,
    )
