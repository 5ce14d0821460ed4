"""CVXPY: problems over boolean and integer variables, read from their expression trees.

The losses stay losses and A stays A: no epigraphs, no further variables.

>>> import cvxpy as cp
>>> from dcra.interop.cvxpy import solve
>>> x = cp.Variable(2, boolean=True)
>>> solve(cp.Problem(cp.Minimize(cp.norm1(x - 0.8) + x[0])), seed=0).value
1.0
>>> x.value
array([0., 1.])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint

from dcra._array import Host, to_numpy
from dcra.api import solve as solve_problem
from dcra.interop._parts import Parts, refuse_empty
from dcra.losses import Huber
from dcra.model.integers import IntegerProblem
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Moment, Progress, Result
from dcra.search.checks import check_callable, check_target

__all__ = ["Answer", "problem_of", "solve"]

try:
    import cvxpy as _cvxpy
except ImportError as error:
    raise ImportError("dcra.interop.cvxpy needs CVXPY: pip install 'dcra[cvxpy]'") from error

cvxpy: Any = _cvxpy

DENSE = 0.25
"""Share of entries that are not zero from which a matrix is better dense."""

ELEMENTWISE = {"abs": "l1", "logistic": "logistic"}
NORMS = {"norm1": "l1", "norm_inf": "linf"}
KNOWN = (
    "norm1, norm2, norm_inf, sum_squares, quad_form, max, and sums of abs, square, huber, pos, maximum and "
    "logistic"
)

ATTRIBUTES = {"boolean", "integer", "bounds", "nonneg", "nonpos", "pos", "neg"}
"""What a variable may be declared as; `pos` and `neg` let zero in, as CVXPY's own solvers do."""


@dataclass(frozen=True)
class Answer:
    """What became of a problem: `value` and `bound` as the problem states them, and the result behind it.

    `bound` is what no feasible point falls below, or exceeds where the problem maximises.
    """

    value: float
    bound: float
    result: Result

    @property
    def status(self) -> str:
        """The status in one word, such as "optimal"."""
        return self.result.status.value


def solve(problem: Any, **options: Any) -> Answer:
    """Solve a CVXPY problem, and give its variables their values.

    Parameters
    ----------
    problem : cvxpy.Problem
        Of boolean variables, and integer ones with bounds: `bounds=` of the variable, or constraints on it
        alone. The objective is a sum of affine expressions, norm1, norm2, norm_inf, sum_squares, quad_form,
        max, and sums of abs, square, huber, pos, maximum, minimum and logistic, each of something affine.
        Constraints are affine. Of other attributes, variables may have nonneg, nonpos, pos and neg.
    **options
        Of `dcra.solve`: time_limit, starts, seed, method, pool, ... `target`, and what a `callback` is told,
        are values as the problem states them: a target is to be reached or exceeded where it maximises.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dcra.interop.cvxpy
    >>> x = cp.Variable(3, boolean=True)
    >>> answer = dcra.interop.cvxpy.solve(cp.Problem(cp.Maximize(x[0] + 2 * x[1] - x[2])), seed=0)
    >>> answer.value, answer.status
    (3.0, 'optimal')
    """
    reading = Reading(problem)
    target = check_target(options.get("target"))
    if target is not None:
        options["target"] = reading.sign * target
    callback = check_callable(options.get("callback"))
    if callback is not None and reading.sign < 0:
        options["callback"] = _maximised(callback)
    result = solve_problem(reading.problem(), **options)
    reading.save(to_numpy(result.x).astype(np.float64))
    return Answer(reading.sign * result.fun + 0.0, reading.sign * result.lower_bound + 0.0, result)


def _maximised(callback: Callable[[Moment], Any]) -> Callable[[Moment], Any]:
    """A callback that is told of maxima where the search tells of minima."""

    def tell(moment: Moment) -> Any:
        row = Progress(moment.seconds, 0.0 - moment.fun, 0.0 - moment.lower_bound)
        return callback(Moment.of(row, lambda: moment.x))

    return tell


def problem_of(problem: Any) -> Problem | IntegerProblem:
    """The problem that a CVXPY problem states; it minimises where that maximises."""
    return Reading(problem).problem()


@dataclass(frozen=True)
class Affine:
    """A v + c, entry by entry, for the stacked variables v."""

    A: Any
    c: Host

    @property
    def matrix(self) -> Any:
        """A, dense where most of it is not zero."""
        rows, n = self.A.shape
        return self.A.toarray() if self.A.nnz >= DENSE * rows * n else self.A

    def minus(self, other: Affine) -> Affine:
        """This expression less another one."""
        return Affine(self.A - other.A, self.c - other.c)


class Reading(Parts):
    """A CVXPY problem as it is read."""

    def __init__(self, problem: Any) -> None:
        if not isinstance(problem, cvxpy.Problem):
            raise TypeError(f"`problem` must be a cvxpy.Problem; got {type(problem).__name__}")
        self.variables = problem.variables()
        if not self.variables:
            raise ValueError("`problem` must have variables; it is a constant")
        empty = [p.name() for p in problem.parameters() if p.value is None]
        if empty:
            raise ValueError(f"parameters must have values; {empty[0]} has none. Give it one by its `.value`")
        for v in self.variables:
            _refuse_attributes(v)
        self.start = np.concatenate([[0], np.cumsum([v.size for v in self.variables])]).astype(int)
        super().__init__(int(self.start[-1]))
        self.sign = -1.0 if isinstance(problem.objective, cvxpy.Maximize) else 1.0
        with self._at_zero():
            for i, one in enumerate(problem.constraints):
                self._constrain(f"constraint {i}, {one}", one)
            self.low, self.high = self._ends()
            self.visit(problem.objective.expr, np.asarray([self.sign]))

    def problem(self) -> Problem | IntegerProblem:
        """The problem, in whole numbers where a variable has more than two values."""
        bits = all(v.attributes["boolean"] for v in self.variables)
        return self.gathered(None if bits else (self.low, self.high), self._name_of)

    def _name_of(self, k: int) -> str:
        """The name of the variable that has place k."""
        return str(self.variables[np.searchsorted(self.start, k, side="right") - 1].name())

    def save(self, x: Host) -> None:
        """Give the variables the values of a point."""
        for v, lo, hi in zip(self.variables, self.start[:-1], self.start[1:], strict=True):
            v.save_value(x[lo:hi].reshape(v.shape, order="F"))

    @contextmanager
    def _at_zero(self) -> Iterator[None]:
        """With all variables at zero, where affine expressions show their constants."""
        before = [v.value for v in self.variables]
        for v in self.variables:
            v.save_value(np.zeros(v.shape))
        try:
            yield
        finally:
            for v, value in zip(self.variables, before, strict=True):
                v.save_value(value)

    def affine(self, expr: Any, within: str) -> Affine:
        """An affine expression; an error that names what is not."""
        if not expr.is_affine():
            raise ValueError(f"{within} must be of something affine; it is of {_name(expr)}")
        slopes = expr.grad
        parts = [
            _slope(slopes[v]) if v in slopes else sparse.csr_array((expr.size, v.size))
            for v in self.variables
        ]
        c = np.asarray(expr.value, dtype=float).ravel(order="F")
        return Affine(sparse.csr_array(sparse.hstack(parts, format="csr")), c)

    def _constrain(self, name: str, one: Any) -> None:
        kind = type(one).__name__
        if kind not in ("Inequality", "Equality", "Zero", "NonPos", "NonNeg"):
            raise ValueError(f"constraints must be affine equalities or inequalities; got {kind}")
        found = self.affine(one.expr, f"`{one}`, a constraint,")
        low = {"Inequality": -np.inf, "NonPos": -np.inf}.get(kind, 0.0)
        high = np.inf if kind == "NonNeg" else 0.0
        self.rows[name] = LinearConstraint(found.A, low - found.c, high - found.c)

    def _ends(self) -> tuple[Host, Host]:
        """Bounds of all variables, by their attributes and by rows of one variable alone.

        What makes a boolean variable narrower than 0 to 1 becomes a row.
        """
        low, high = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for i, (v, lo, hi) in enumerate(zip(self.variables, self.start[:-1], self.start[1:], strict=True)):
            low[lo:hi], high[lo:hi] = _stated_bounds(v)
            if v.attributes["boolean"] is True:
                narrow = lo + np.flatnonzero((low[lo:hi] > 0) | (high[lo:hi] < 1))
                if narrow.size:
                    A = sparse.eye_array(self.n, format="csr")[narrow]
                    name = f"attributes of variable {i}, {v.name()}"
                    self.rows[name] = LinearConstraint(A, low[narrow], high[narrow])
            elif v.attributes["integer"] is not True:
                raise ValueError(f"all variables must be boolean or integer; {v.name()} is not")
        refuse_empty(low, high, self._name_of)
        for row in self.rows.values():
            _tighten(row, low, high)
        for v, lo, hi in zip(self.variables, self.start[:-1], self.start[1:], strict=True):
            if not np.all(np.isfinite(low[lo:hi]) & np.isfinite(high[lo:hi])):
                raise ValueError(
                    f"integer variables must be bounded; {v.name()} is not. Give it `bounds=[low, high]`, or "
                    f"constraints such as {v.name()} >= 0 and {v.name()} <= 10"
                )
        return _whole(low, high)

    def visit(self, expr: Any, w: Host) -> None:
        """Add sum_i w_i expr_i to the objective, w in column order."""
        kind = _name(expr)
        if expr.is_affine():
            found = self.affine(expr, kind)
            self.add_affine(found.A.T @ w, found.c @ w)
        elif kind in STRUCTURE:
            STRUCTURE[kind](self, expr, w)
        elif kind in ATOMS:
            ATOMS[kind](self, expr, w)
        else:
            raise ValueError(f"the atom {kind} is not known here; known are {KNOWN}")

    def charge(self, kind: str, loss: Any, found: Affine, w: Host) -> None:
        """Add a loss of something affine; one weight, or one for each row."""
        if np.any(w < 0):
            raise ValueError(f"the objective must be convex; {kind} counts with a negative factor")
        if np.any(w > 0):
            weight = float(w[0]) if np.all(w == w[0]) else w
            self.terms.append(Term(loss, found.matrix, -found.c, weight))


def _add(reading: Reading, expr: Any, w: Host) -> None:
    for part in expr.args:
        reading.visit(part, w if part.size == w.size else np.asarray([w.sum()]))


def _negate(reading: Reading, expr: Any, w: Host) -> None:
    reading.visit(expr.args[0], -w)


def _sum(reading: Reading, expr: Any, w: Host) -> None:
    part = expr.args[0]
    if expr.axis is None:
        spread = np.full(part.shape, w[0])
    else:
        spread = w.reshape(expr.shape, order="F")
        spread = spread if expr.keepdims else np.expand_dims(spread, expr.axis)
        spread = np.broadcast_to(spread, part.shape)
    reading.visit(part, spread.ravel(order="F"))


def _require_constant(*factors: Any) -> None:
    """Refuse a product, or a quotient, of which no factor is a constant."""
    if not any(factor.is_constant() for factor in factors):
        raise ValueError(
            "products and quotients of expressions that all have variables are not known here; "
            "write x'Px as quad_form(x, P)"
        )


def _scale(reading: Reading, expr: Any, w: Host) -> None:
    """Entry by entry times or over a constant."""
    first, second = expr.args
    divided = _name(expr) == "DivExpression"
    _require_constant(second, *([] if divided else [first]))
    if divided:
        part, factor = first, 1.0 / np.asarray(second.value, float)
    else:
        part, other = (second, first) if first.is_constant() else (first, second)
        factor = np.asarray(other.value, float)
    factors = w * np.broadcast_to(factor, expr.shape).ravel(order="F")
    reading.visit(part, factors if part.size == w.size else np.asarray([factors.sum()]))


def _product(reading: Reading, expr: Any, w: Host) -> None:
    """A constant matrix times a vector of atoms, or the reverse."""
    first, second = expr.args
    _require_constant(first, second)
    part = second if first.is_constant() else first
    if len(part.shape) > 1:
        raise ValueError("products with matrices of atoms are not known here; write them as sums")
    other = first if part is second else second
    value: Any = other.value
    P = value.toarray() if hasattr(value, "toarray") else np.asarray(value, float)
    P = np.atleast_2d(P) if part is second else np.atleast_2d(P.T)
    reading.visit(part, P.reshape(-1, part.size).T @ w)


STRUCTURE: dict[str, Any] = {
    "AddExpression": _add,
    "NegExpression": _negate,
    "Sum": _sum,
    "multiply": _scale,
    "DivExpression": _scale,
    "MulExpression": _product,
    "Promote": lambda reading, expr, w: reading.visit(expr.args[0], np.asarray([w.sum()])),
}
"""What holds atoms together."""


def _elementwise(reading: Reading, expr: Any, w: Host) -> None:
    kind = _name(expr)
    reading.charge(kind, ELEMENTWISE[kind], reading.affine(expr.args[0], kind), w)


def _norm(reading: Reading, expr: Any, w: Host) -> None:
    kind = _name(expr)
    if expr.axis is not None:
        raise ValueError(f"{kind} along an axis is not known here; write it as a sum")
    reading.charge(kind, NORMS[kind], reading.affine(expr.args[0], kind), w)


def _pnorm(reading: Reading, expr: Any, w: Host) -> None:
    if float(expr.p) != 2 or expr.axis is not None:
        raise ValueError(f"of the p-norms, p = 1, 2 and inf are known here; got {float(expr.p):g}")
    reading.charge("norm2", "l2", reading.affine(expr.args[0], "norm2"), w)


def _squares(reading: Reading, expr: Any, w: Host) -> None:
    """sum_squares, and quad_over_lin with a constant below."""
    part, below = expr.args
    if not below.is_constant():
        raise ValueError("quad_over_lin must have a constant denominator")
    reading.charge("sum_squares", "squared", reading.affine(part, "sum_squares"), w / float(below.value))


def _power(reading: Reading, expr: Any, w: Host) -> None:
    p = float(expr.p if not hasattr(expr.p, "value") else expr.p.value)
    if p != 2:
        raise ValueError(f"of the powers, squares are known here; got {p:g}")
    reading.charge("square", "squared", reading.affine(expr.args[0], "square"), w)


def _huber(reading: Reading, expr: Any, w: Host) -> None:
    """CVXPY's is u^2 within M and 2 M |u| - M^2 beyond: twice ours."""
    loss = Huber(float(getattr(expr.M, "value", expr.M)))
    reading.charge("huber", loss, reading.affine(expr.args[0], "huber"), 2 * w)


def _maximum(reading: Reading, expr: Any, w: Host, sign: float = 1.0) -> None:
    """max(a, b) = b + pos(a - b), entry by entry; `sign` -1 for the minimum, -max(-a, -b)."""
    kind = _name(expr)
    if len(expr.args) != 2:
        raise ValueError(f"{kind} of two expressions is known here; got {len(expr.args)}")
    a, b = (_spread(reading.affine(part, kind), expr.size) for part in expr.args)
    reading.add_affine(b.A.T @ w, b.c @ w)
    difference = a.minus(b)
    if sign < 0:
        difference = Affine(-difference.A, -difference.c)
    reading.charge(kind, "hinge", difference, sign * w)


def _largest(reading: Reading, expr: Any, w: Host) -> None:
    """max u = |u + m|_inf - m, where u + m is never negative."""
    if expr.axis is not None:
        raise ValueError("max along an axis is not known here; write it as a sum")
    found = reading.affine(expr.args[0], "max")
    up, down = found.A.maximum(0), found.A.minimum(0)
    least = float(np.min(found.c + up @ reading.low + down @ reading.high))
    m = max(0.0, -least)
    reading.charge("max", "linf", Affine(found.A, found.c + m), w)
    reading.constant -= m * float(w[0])


def _quad_form(reading: Reading, expr: Any, w: Host) -> None:
    part, P = expr.args
    if not P.is_constant():
        raise ValueError("quad_form must have a constant matrix")
    found = reading.affine(part, "quad_form")
    M: Any = sparse.csr_array(P.value)
    factor, slope = float(w[0]), (M + M.T) @ found.c
    reading.add_quadratic(factor * (found.A.T @ M @ found.A))
    reading.add_affine(factor * (found.A.T @ slope), factor * (found.c @ (M @ found.c)))


ATOMS: dict[str, Any] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(NORMS, _norm),
    **dict.fromkeys(("Pnorm", "PnormApprox"), _pnorm),
    **dict.fromkeys(("power", "Power", "PowerApprox"), _power),
    "quad_over_lin": _squares,
    "huber": _huber,
    "maximum": _maximum,
    "minimum": lambda reading, expr, w: _maximum(reading, expr, w, -1.0),
    "max": _largest,
    "QuadForm": _quad_form,
}
"""Atoms that are terms."""


def _name(expr: Any) -> str:
    return type(expr).__name__


def _slope(slope: Any) -> Any:
    """The derivative of an expression by a variable, a row for each entry of the expression."""
    matrix: Any = slope if hasattr(slope, "tocsr") else np.atleast_2d(slope)
    return sparse.csr_array(matrix.T)


def _spread(found: Affine, size: int) -> Affine:
    """One entry as many."""
    if found.c.size == size:
        return found
    return Affine(sparse.csr_array(found.A[np.zeros(size, int)]), np.full(size, found.c[0]))


def _refuse_attributes(v: Any) -> None:
    """Raise an error that names an attribute which is set and not known here."""
    for name, value in v.attributes.items():
        if value and name not in ATTRIBUTES:
            raise ValueError(f"variable {v.name()} has `{name}`: state it by constraints")
    if v.attributes["integer"] is True and not isinstance(v.attributes["boolean"], bool):
        raise ValueError(f"variable {v.name()} has `boolean` for some entries: state it by constraints")


def _stated_bounds(v: Any) -> tuple[Host, Host]:
    """What the attributes of a variable say of its bounds, together."""
    stated = v.attributes
    low, high = np.full(v.size, -np.inf), np.full(v.size, np.inf)
    if stated.get("bounds") is not None:
        low, high = (_end(v, end) for end in stated["bounds"])
    if stated["boolean"] is True or stated.get("nonneg") or stated.get("pos"):
        low = np.maximum(low, 0.0)
    if stated["boolean"] is True:
        high = np.minimum(high, 1.0)
    if stated.get("nonpos") or stated.get("neg"):
        high = np.minimum(high, 0.0)
    return _whole(low, high)


def _whole(low: Host, high: Host) -> tuple[Host, Host]:
    """The whole numbers next to both ends, within them."""
    return np.ceil(low - 1e-9), np.floor(high + 1e-9)


def _end(v: Any, end: Any) -> Host:
    """One end of the bounds of a variable, which may be an expression of parameters."""
    value = end.value if isinstance(end, cvxpy.Expression) else end
    return np.broadcast_to(np.asarray(value, float), v.shape).ravel(order="F")


def _tighten(row: LinearConstraint, low: Host, high: Host) -> None:
    """Bounds from rows that speak of one variable alone."""
    A: Any = row.A
    G = sparse.csr_array(A)
    for i in np.flatnonzero(np.diff(G.indptr) == 1):
        j, a = G.indices[G.indptr[i]], G.data[G.indptr[i]]
        if a == 0:
            continue
        ends = sorted(np.broadcast_to(end, G.shape[0])[i] / a for end in (row.lb, row.ub))
        low[j], high[j] = max(low[j], ends[0]), min(high[j], ends[1])
