"""A problem as a mixed-integer program: what HiGHS, Gurobi, CP-SAT and SCIP are given.

With x = low + width u, u in {0,1}^n, a residual is M u - h. A loss of `dcra.losses.table` whose conjugate is
k g^2/2 + e|g| on [lo, hi] is the infimal convolution of its three parts: M u - h = s + t + p - q with

    s^2 / 2k  free (k > 0),     |t| <= e  free of charge,     hi p - lo q,  p, q >= 0,

that is a row h - e <= M u - s - p + q <= h + e. Where k = e = 0, q is eliminated: the cost is
(hi - lo) p + lo (M u - h) under one row M u - p <= h. That is half the nonzeros of the textbook form
z >= +-(M u - h), with the same relaxation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import frexp, inf
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.feasibility import NEGLIGIBLE, faithful, largest_entries, row_scale, sparse_rows
from dcra.foreign import importing
from dcra.losses import Linear, LInf, Loss, TableLoss
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term

NO_SIDE = 1e-6
"""Sides of rows, in the same units, that are as good as 0: solvers meet them no better."""

LARGEST_SIDE = 1e6
"""Sides of rows, in units of their entries, that are left to solvers as they are."""


def piecewise_linear(loss: Loss) -> bool:
    """Whether a linear program can express the loss."""
    return isinstance(loss, LInf) or (isinstance(loss, TableLoss) and loss.table.k == 0)


def piecewise_quadratic(loss: Loss) -> bool:
    """Whether a quadratic program can."""
    return isinstance(loss, LInf | TableLoss)


@dataclass(frozen=True, eq=False)
class MixedModel:
    """minimise cost'v + curvature'(v * v)/2 subject to low <= rows v <= high, lower <= v <= upper.

    The first `n` entries of v are the u in {0,1}^n, the others continuous. F(x) = unit * value + offset.
    The last `n_hard` rows are the problem's constraints.
    """

    n: int
    cost: Host
    curvature: Host
    rows: Any  # scipy.sparse.csr_array
    low: Host
    high: Host
    lower: Host
    upper: Host
    prices: Host  # what a unit of violation of each row is worth at most
    unit: float
    offset: float
    n_hard: int = 0
    faithful: bool = True  # whether no constraint has entries that solvers take for zero

    @property
    def integrality(self) -> Host:
        """1 for u, 0 for the rest."""
        return (np.arange(self.cost.size) < self.n).astype(np.int64)

    @property
    def quadratic(self) -> bool:
        return bool(np.any(self.curvature))

    def allowance(self, tolerance: float) -> float:
        """By how much the bound of a solver that meets rows and reduced costs so far may be too high."""
        if not self.faithful:
            return inf
        return self.unit * ((tolerance + self._lost) * float(np.sum(self.prices)) + tolerance * self.n)

    @cached_property
    def clean(self) -> MixedModel:
        """The same without what is next to nothing in rows of losses, which presolves draw conclusions from.

        What that may cost is allowed for.
        """
        end = self.low.size - self.n_hard
        rows = self.rows.copy()
        entries = rows.data[: rows.indptr[end]]
        entries[np.abs(entries) < NEGLIGIBLE] = 0.0
        rows.eliminate_zeros()
        low, high = self.low.copy(), self.high.copy()
        for side in (low[:end], high[:end]):
            side[np.abs(side) < NO_SIDE] = 0.0
        return replace(self, rows=rows, low=low, high=high)

    @cached_property
    def _lost(self) -> float:
        """By how much `clean` moves a row at most; one price may be that of several rows together."""
        clean, end = self.clean, self.low.size - self.n_hard
        dust = abs(self.rows - clean.rows).sum(axis=1)[:end]
        with np.errstate(invalid="ignore"):
            sides = np.abs([self.low - clean.low, self.high - clean.high])[:, :end]
        return float(np.max(dust + np.nan_to_num(sides).max(axis=0), initial=0.0))


class _ModelBlock(NamedTuple):
    """Some rows: their matrix on u, on columns of their own, and the costs of both."""

    rows: Any
    low: Host
    high: Host
    prices: Host
    own: Any  # (rows, own columns)
    cost: Host
    curvature: Host
    lower: Host
    upper: Host


def mixed_model(problem: Problem) -> MixedModel:
    """The program whose optimum is the problem's; needs matrices, and losses that are piecewise quadratic."""
    with importing():
        from scipy import sparse

    low, high = DOMAINS[problem.domain]
    width = high - low
    n = problem.n
    cost, offset = np.zeros(n), problem.constant
    if problem.linear is not None:
        c = to_numpy(problem.linear)
        cost, offset = cost + width * c, offset + low * float(np.sum(c))
    blocks = []
    for term in problem.terms:
        charge, constant, block = _term(term, low, width)
        cost, offset = cost + charge, offset + constant
        blocks += [block] if block is not None else []
    every = np.concatenate([cost, *(b.cost for b in blocks)])
    curvature = np.concatenate([np.zeros(n), *(b.curvature for b in blocks)])
    unit = power_of_two(max(_largest(every), _largest(curvature)))
    n_hard = 0 if problem.constraints is None else len(problem.constraints)
    blocks += [_constraints(problem, low, width)] if n_hard else []
    own = [b.own for b in blocks]
    grid = [[b.rows, *(own[i] if i == j else None for j in range(len(own)))] for i, b in enumerate(blocks)]
    return MixedModel(
        n=n,
        cost=every / unit,
        curvature=curvature / unit,
        rows=sparse.csr_array(sparse.block_array(grid, format="csr")) if grid else sparse.csr_array((0, n)),
        low=_joined([b.low for b in blocks]),
        high=_joined([b.high for b in blocks]),
        lower=np.concatenate([np.zeros(n), *(b.lower for b in blocks)]),
        upper=np.concatenate([np.ones(n), *(b.upper for b in blocks)]),
        prices=_joined([b.prices for b in blocks]) / unit,
        unit=unit,
        offset=offset,
        n_hard=n_hard,
        faithful=problem.constraints is None or faithful(problem.constraints),
    )


def _constraints(problem: Problem, low: float, width: float) -> _ModelBlock:
    """low <= G x <= high as rows on u, without columns of their own."""
    with importing():
        from scipy import sparse

    constraints = problem.constraints
    assert constraints is not None
    base = low * constraints.activity(np.ones(problem.n))
    none = np.zeros(0)
    own = sparse.csr_array((len(constraints), 0))
    scale = row_scale(largest_entries(constraints))
    sides = (constraints.low - base) / scale, (constraints.high - base) / scale
    G = sparse_rows(width / scale, constraints.G)
    return _ModelBlock(G, *sides, np.zeros(len(constraints)), own, none, none, none, none)


def _term(term: Term, low: float, width: float) -> tuple[Host, float, _ModelBlock | None]:
    """The cost that a term puts on u, a constant, and its rows."""
    with importing():
        from scipy import sparse

    n = term.operator.shape[1]
    weight = np.broadcast_to(to_numpy(term.weight), term.operator.shape[:1]).astype(np.float64)
    h = (to_numpy(term.b) - low * to_numpy(term.operator.row_sums)).astype(np.float64)
    A = term.operator.on_host()
    if isinstance(term.loss, Linear):
        return width * (A.T @ weight), -float(weight @ h), None
    kept = np.flatnonzero(weight)
    if kept.size == 0:
        return np.zeros(n), 0.0, None
    M: Any = sparse.csr_array(A, dtype=np.float64)
    M = width * (M if kept.size == weight.size else M[kept])
    weight, h = weight[kept], h[kept]
    if isinstance(term.loss, LInf):
        common = power_of_two(_largest(M.data))
        return np.zeros(n), 0.0, _largest_residual(M / common, h / common, common * weight[0])
    largest = np.asarray(abs(M).max(axis=1).toarray()).ravel()  # tolerances of solvers are absolute
    scale = row_scale(np.maximum(largest, np.abs(h) / LARGEST_SIDE))
    M, h = sparse_rows(1 / scale, M), h / scale
    assert isinstance(term.loss, TableLoss)
    k, e, lo, hi = term.loss.table
    if k == 0 and e == 0:
        charge = lo * (M.T @ (scale * weight))
        return charge, -lo * float((scale * weight) @ h), _one_sided(M, h, scale * (hi - lo) * weight)
    return np.zeros(n), 0.0, _convolution(M, h, weight, scale, term.loss)


def _one_sided(M: Any, h: Host, price: Host) -> _ModelBlock:
    """price'p with p >= 0, p >= M u - h."""
    with importing():
        from scipy import sparse

    r = h.size
    _, most = _reach(M, h)
    zero = np.zeros(r)
    upper = np.maximum(most, 0.0)
    return _ModelBlock(M, zero - inf, h, price, -sparse.eye_array(r, format="csr"), price, zero, zero, upper)


def _largest_residual(M: Any, h: Host, price: float) -> _ModelBlock:
    """price * t with t >= +-(M u - h)."""
    with importing():
        from scipy import sparse

    r = h.size
    least, most = _reach(M, h)
    column = sparse.csr_array(np.concatenate([-np.ones(r), np.ones(r)])[:, None])
    return _ModelBlock(
        rows=sparse.vstack([M, M], format="csr"),
        low=np.concatenate([np.full(r, -inf), h]),
        high=np.concatenate([h, np.full(r, inf)]),
        prices=np.full(2 * r, price / (2 * r)),  # the prices of all rows together are that of t
        own=column,
        cost=np.array([price]),
        curvature=np.zeros(1),
        lower=np.zeros(1),
        upper=np.array([max(_largest(least), _largest(most))]),
    )


def _convolution(M: Any, h: Host, weight: Host, scale: Host, loss: TableLoss) -> _ModelBlock:
    """h - e <= M u - s - p + q <= h + e; a side that costs nothing is an inequality instead of a column."""
    with importing():
        from scipy import sparse

    k, e, lo, hi = loss.table
    r = h.size
    zero = np.zeros(r)
    least, most = _reach(M, h)
    steepest = np.maximum(np.abs(least), np.abs(most)) * scale / k if k > 0 else np.full(r, inf)
    columns = []  # sign, cost, curvature, lower, upper
    if k > 0:
        columns.append((-1.0, zero, weight * scale**2 / k, least, most))
    if 0 < hi < inf:
        columns.append((-1.0, scale * hi * weight, zero, zero, np.maximum(most, 0.0)))
    if -inf < lo < 0:
        columns.append((1.0, -scale * lo * weight, zero, zero, np.maximum(-least, 0.0)))
    signs, cost, curvature, lower, upper = zip(*columns, strict=True)
    return _ModelBlock(
        rows=M,
        low=h - e / scale if lo < 0 else zero - inf,
        high=h + e / scale if hi > 0 else zero + inf,
        prices=scale * weight * np.minimum(max(-lo, hi), steepest),
        own=sparse.hstack([sign * sparse.eye_array(r) for sign in signs], format="csr"),
        cost=np.concatenate(cost),
        curvature=np.concatenate(curvature),
        lower=np.minimum(np.concatenate(lower), 0.0),
        upper=np.maximum(np.concatenate(upper), 0.0),
    )


def _reach(M: Any, h: Host) -> tuple[Host, Host]:
    """Less than the smallest and more than the largest M u - h over u in [0,1]^n.

    Bounds that rows meet up to rounding make a solver's presolve draw conclusions from that rounding.
    """
    room = np.ceil(1 + 1e-6 * np.abs(h))
    return M.minimum(0).sum(axis=1) - h - room, M.maximum(0).sum(axis=1) - h + room


def power_of_two(size: float) -> float:
    """The power of two just above a size; 1 for 0."""
    return 2.0 ** frexp(size)[1] if size > 0 else 1.0


def _largest(x: Host) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _joined(parts: list[Host]) -> Host:
    return np.concatenate(parts) if parts else np.zeros(0)
