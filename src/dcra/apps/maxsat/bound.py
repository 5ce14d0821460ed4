"""Lower bounds on the cost where soft clauses have at most two literals: the semidefinite relaxation, priced.

Each of the four products (1 +- s_i)(1 +- s_j)/4 of a pair of spins is 0 or 1 at every point, and the product
that stands for a false hard clause is 0 at every feasible one. Hence

    cost(s) >= cost(s) - sum of price * product

for prices that are not negative, and of any sign where the clause is hard. The right side is quadratic, and
so has a semidefinite relaxation, which may put products below 0: there prices make it tighter.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from dcra._array import Host
from dcra._kernels.store import Sparse
from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.problem import quadratic_form
from dcra.bounds.dual import DualStage, Stage, trivial_bound
from dcra.bounds.semidefinite import EPS, PATIENCE, Relaxation, SdpRounds, affordable
from dcra.compiled.form import Compiled
from dcra.compiled.quadratic import QuadraticTables

SIGNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
"""Of the spins in the four products of a pair."""

PRICINGS, PASSES = 50, 3
"""Changes of the prices, and passes of the relaxation before each."""

STEP, LEAST_SHARE = 0.3, 0.01
"""First step of the prices, as a share of the way to the known cost, and the least way, as a share of it."""


def stage_for(compiled: Compiled, clauses: Clauses, fun: float, seconds: float) -> Stage | None:
    """The semidefinite stage, with the linear one beside it where there are units; None: the linear alone."""
    short = clauses.lengths <= 2
    entries = 2 * int(np.count_nonzero(clauses.lengths == 2))
    fits = entries > 0 and short[~clauses.hard].all() and affordable(clauses.n, entries, _worth(seconds))
    if not fits or not compiled.loops:
        return None
    pairs = PairStage(clauses, fun, trivial_bound(compiled.problem))
    units = bool(np.any(clauses.lengths == 1))  # else all variables at 1/2 make every clause true
    return BoundsInTurn([pairs, DualStage(compiled, fun)]) if units else pairs


def _worth(seconds: float) -> float:
    return PATIENCE if seconds == inf else seconds


class BoundsInTurn:
    """Several stages, each a step at a time; the best of their bounds."""

    def __init__(self, stages: list[Stage]) -> None:
        self.stages = stages

    @property
    def bound(self) -> float:
        return max(stage.bound for stage in self.stages)

    @property
    def rounds(self) -> int:
        return min((stage.rounds for stage in self.stages if not stage.done), default=0)

    @property
    def done(self) -> bool:
        return all(stage.done for stage in self.stages)

    def advance(self, work: int) -> None:
        for stage in self.stages:
            if not stage.done:
                stage.advance(work)


class PairStage:
    """A proof without prices, passes at changing prices, and a proof at the mean of their second half.

    Parameters
    ----------
    clauses : Clauses
        Hard clauses of three literals or more are left out.
    fun : float
        Objective of a known point; steps are measured by the way to it.
    bound : float
        One that is known.
    """

    def __init__(self, clauses: Clauses, fun: float, bound: float = 0.0) -> None:
        self.pairs = ClausePairs(clauses)
        self.bound, self.fun = bound, fun if 0 <= fun < clauses.top else 0.1 * clauses.top
        self.most = float(clauses.top)  # what every infeasible point costs
        self.prices = np.zeros_like(self.pairs.least_price)
        self.total = np.zeros_like(self.prices)
        quadratic, self.constant, self.size = self.pairs.priced(self.prices)
        self.relaxation = Relaxation(quadratic)
        self.proof: SdpRounds | None = SdpRounds(self.relaxation)
        self.pricings = 0 if self.pairs.promising else PRICINGS
        self.proofs = 0

    @property
    def rounds(self) -> int:
        return self.proofs

    @property
    def done(self) -> bool:
        return self.proof is None and self.pricings == PRICINGS

    def advance(self, work: int) -> None:
        if self.done:
            return
        if self.proof is not None:
            self._prove(self.proof, work)
            return
        self.relaxation.advance(work)
        if self.relaxation.place == 0 and self.relaxation.passes % PASSES == 0:
            self._price()

    def _prove(self, proof: SdpRounds, work: int) -> None:
        proof.advance(work)
        if proof.least > -inf:
            allowance = EPS * len(self.prices) * self.size
            self.bound = max(self.bound, min(self.constant + proof.least - allowance, self.most))
        if proof.done:
            self.proofs += 1
            self.proof = None

    def _price(self) -> None:
        """A step of the prices against the products; the last is followed by a proof at their mean."""
        products = self.pairs.products(self.relaxation.V)
        slope = np.where((self.prices > self.pairs.least_price) | (products < 0), -products, 0.0)
        way = max(self.fun - self.constant - self.relaxation.value(), LEAST_SHARE * abs(self.fun))
        share = STEP * (1 - self.pricings / PRICINGS)
        self.prices += share * way / max(float(np.sum(slope**2)), EPS) * slope
        np.maximum(self.prices, self.pairs.least_price, out=self.prices)
        self.pricings += 1
        if self.pricings > PRICINGS // 2:
            self.total += self.prices
        if self.pricings == PRICINGS:
            self.prices = self.total / (PRICINGS - PRICINGS // 2)
            self.proof = SdpRounds(self.relaxation)
        self.relaxation.quadratic, self.constant, self.size = self.pairs.priced(self.prices)


class ClausePairs:
    """The pairs of variables that share a clause, and the cost as a quadratic of spins at given prices.

    least_price : (pairs, 4), 0 or, for the products of false hard clauses, -inf
    promising : whether prices can make a difference; without fields and hard pairs no product is below 0
    """

    def __init__(self, clauses: Clauses) -> None:
        kept, weight = _kept(clauses)
        n = clauses.n
        self.h, J, self.constant = quadratic_form(kept, weight)
        two = np.flatnonzero(kept.lengths == 2)
        first, second = kept.literals[kept.ptr[two]], kept.literals[kept.ptr[two] + 1]
        keys, pair = np.unique((np.abs(first) - 1) * n + np.abs(second) - 1, return_inverse=True)
        self.i, self.j = keys // n, keys % n
        self.couplings = np.asarray(J[self.i, self.j], np.float64).ravel()
        self.least_price = np.zeros((keys.size, 4))
        hard = kept.hard[two]
        self.least_price[pair[hard], (2 * (first > 0) + (second > 0))[hard]] = -inf
        self.promising = bool(hard.any()) or bool(np.any(self.h))
        rows, columns = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        self.order = np.lexsort((columns, rows))
        self.ptr = np.searchsorted(rows[self.order], np.arange(n + 1)).astype(np.int64)
        self.idx = columns[self.order].astype(np.int32)

    def priced(self, prices: Host) -> tuple[QuadraticTables, float, float]:
        """Couplings and constant at some prices, and the sum of what is added up in them, without signs."""
        field = self.h.copy()
        np.subtract.at(field, self.i, 0.25 * (prices @ SIGNS[:, 0]))
        np.subtract.at(field, self.j, 0.25 * (prices @ SIGNS[:, 1]))
        J = self.couplings - 0.25 * (prices @ (SIGNS[:, 0] * SIGNS[:, 1]))
        C = Sparse(self.ptr, self.idx, np.tile(4.0 * J, 2)[self.order])  # J stands in both triangles, halved
        paid = float(np.sum(np.abs(prices)))
        size = float(np.sum(np.abs(self.h)) + np.sum(np.abs(self.couplings))) + abs(self.constant) + paid
        return (
            QuadraticTables(C, 2.0 * field, exact=False),
            self.constant - 0.25 * float(np.sum(prices)),
            size,
        )

    def products(self, V: Host) -> Host:
        """The four products of each pair where the relaxation is at V, (pairs, 4)."""
        x = V[:-1] @ V[-1]
        both = np.einsum("ij,ij->i", V[self.i], V[self.j])
        alone = x[self.i][:, None] * SIGNS[:, 0] + x[self.j][:, None] * SIGNS[:, 1]
        return np.asarray(0.25 * (1.0 + alone + both[:, None] * SIGNS[:, 0] * SIGNS[:, 1]))


def _kept(clauses: Clauses) -> tuple[Clauses, Host]:
    """The clauses that count, and with what: hard units outweigh what is around, hard pairs have prices."""
    short = clauses.lengths <= 2
    inside = np.repeat(short, clauses.lengths)
    ptr = np.concatenate([[0], np.cumsum(clauses.lengths[short])])
    parts = (ptr, clauses.literals[inside], clauses.weight[short], clauses.hard[short])
    kept = replace(clauses, ptr=parts[0], literals=parts[1], weight=parts[2], hard=parts[3])
    weight = np.where(kept.hard, 0.0, kept.weight).astype(np.float64)
    variable = np.abs(kept.literals) - 1
    load = np.bincount(variable, np.repeat(weight, kept.lengths), kept.n)
    unit = np.flatnonzero(kept.hard & (kept.lengths == 1))
    weight[unit] = np.minimum(2.0 * load[variable[kept.ptr[unit]]] + 1.0, clauses.top)
    return kept, weight
