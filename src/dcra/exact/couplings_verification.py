"""Proofs about couplings checked, without rounding: every bound is drawn again from its multipliers.

With z the spins of a point, z = Pw at a node, where w are those that are left of it,

    F(z) = z'Mz + constant >= constant - sum y - sum price      where  P'(M - sum price T + Diag(y))P

is positive semidefinite, because <T, zz'> >= -1 for every triangle T. The matrix is made of the problem's own
numbers, all of them whole multiples of a power of two.
"""

from __future__ import annotations

from fractions import Fraction
from math import frexp, gcd
from typing import NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.couplings_certificate import PairCertificate, PairEvent, check_parts, couplings_digest
from dcra.exact.couplings_form import couplings_alone
from dcra.exact.definite_parts import lacking
from dcra.exact.verdict import Refuted, Verdict
from dcra.exact.whole_numbers import last_bit, whole
from dcra.model.exact_value import exact_value
from dcra.model.problem import Problem

SIGNS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
"""Of the products ij, ik and jk in triangles of each kind."""

MOST_POINTS = 16
"""Spins that are left up to which all points may be looked at."""

SMALL_SUM = 2**61
"""Sums of whole numbers below this are those of int64."""


def verify_couplings(proof: PairCertificate, problem: Problem) -> Verdict:
    """Check a proof against a problem; raises `Refuted` where it does not hold."""
    if not couplings_alone(problem) or couplings_digest(problem) != proof.problem:
        raise Refuted("the proof is that of another problem")
    wrong = check_parts(proof, problem.n)
    if wrong:
        raise Refuted(f"the proof does not fit the problem: {wrong}")
    form = spin_form(problem)
    nodes = _follow(proof, problem.n, Scales(proof, form))
    high, low = (1.0, -1.0) if problem.domain == "spin" else (1.0, 0.0)
    fun = exact_value(problem, np.where(proof.point > 0, high, low))
    assert fun is not None
    return Verdict(form.next_value(Fraction(proof.bound)), fun, True, nodes)


class SpinForm(NamedTuple):
    """F = 2^unit z'Mz + constant, M (n+1, n+1) of whole numbers, with zeros on its diagonal.

    Its values are `one` of them and others that are whole numbers of `step` apart.
    """

    M: Host
    unit: int
    constant: Fraction
    one: Fraction
    step: Fraction

    def next_value(self, bound: Fraction) -> Fraction:
        """The least value not below `bound` that F may have."""
        if self.step == 0:
            return self.one
        return self.one + self.step * -((self.one - bound) // self.step)


def spin_form(problem: Problem) -> SpinForm:
    """A problem that is couplings alone over spins (1, s), where x = s or (1 + s)/2."""
    assert problem.quadratic is not None
    Q = np.asarray(to_numpy(problem.quadratic.operator.dense()), np.float64)
    c = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    unit = min(last_bit(Q), last_bit(c))
    q, own = whole(Q, unit), whole(c, unit)
    diagonal = np.diag(q).copy()
    np.fill_diagonal(q, 0)
    M = np.zeros((problem.n + 1, problem.n + 1), object)
    if problem.domain == "spin":
        M[1:, 1:], field, rest = 4 * q, 2 * own, 4 * diagonal.sum()
        one, steps = rest + 4 * (q.sum() + own.sum()), [*(16 * q).ravel(), *(8 * own)]
    else:
        M[1:, 1:], field = q, own + diagonal + q.sum(axis=1)
        rest = 2 * (own.sum() + diagonal.sum()) + q.sum()
        one, steps = 0, [*(8 * q).ravel(), *(4 * (own + diagonal))]
    M[0, 1:] = M[1:, 0] = field
    scale, base = Fraction(2) ** (unit - 2), Fraction(problem.constant)
    step = gcd(*(int(x) for x in steps))
    return SpinForm(M, unit - 2, base + int(rest) * scale, base + int(one) * scale, step * scale)


class Part(NamedTuple):
    """The points of a node: z_v = sign_v w_(label_v)."""

    label: Host
    sign: Host

    def merged(self, i: int, j: int, sign: int) -> Part:
        """Those with z_i = sign z_j."""
        gone, stays = self.label[i], self.label[j]
        turned = np.where(self.label == gone, sign * self.sign[i] * self.sign[j] * self.sign, self.sign)
        return Part(np.where(self.label == gone, stays, self.label), turned)

    def reduced(self, G: Host) -> Host:
        """P'GP without rows of zeros."""
        _, at = np.unique(self.label, return_inverse=True)
        k = int(at.max()) + 1
        R = np.zeros((k, k), object)
        np.add.at(R, (at[:, None], at[None, :]), G * np.multiply.outer(self.sign, self.sign).astype(object))
        kept = np.flatnonzero(np.any(R != 0, axis=1))
        return np.asarray(R[np.ix_(kept, kept)])


def _follow(proof: PairCertificate, n: int, scales: Scales) -> int:
    """Go through all events; the nodes of the tree, none of which may be left open."""
    parts = {0: Part(np.arange(n + 1), np.ones(n + 1, int))}
    known = 1
    for kind, node, i, j, sign, at in proof.events.tolist():
        part = parts.get(node)
        if part is None:
            raise Refuted(f"node {node} is spoken of where it is not open")
        if kind in (PairEvent.MERGE, PairEvent.BRANCH):
            if not (0 <= i <= n and 0 <= j <= n and abs(sign) == 1) or part.label[i] == part.label[j]:
                raise Refuted(f"spins {i} and {j} are not free at node {node}")
            one, other = part.merged(i, j, sign), part.merged(i, j, -sign)
        if kind == PairEvent.MERGE:
            if not scales.reaches(at, other):
                raise Refuted(f"spins {i} and {j} cannot be merged at node {node}")
            parts[node] = one
        elif kind == PairEvent.BRANCH:
            if at < 1 or at in parts or at + 1 in parts:
                raise Refuted(f"node {node} has children that are there already")
            del parts[node]
            parts[at], parts[at + 1] = one, other
            known += 2
        elif kind in (PairEvent.LEAF, PairEvent.POINTS):
            if not (scales.reaches(at, part) if kind == PairEvent.LEAF else scales.points_reach(part)):
                raise Refuted(f"node {node} is not closed")
            del parts[node]
        else:
            raise Refuted(f"there are no events of kind {kind}")
    if parts:
        raise Refuted(f"{len(parts)} nodes are left open")
    return known


class Scales:
    """Whether multipliers show that no point of a part falls below the stated bound."""

    def __init__(self, proof: PairCertificate, form: SpinForm) -> None:
        own = form.unit - frexp(proof.unit)[1] + 1  # in units of the proof
        self.unit = min(own, *map(last_bit, (proof.y, proof.merged, proof.prices))) - 1
        self.proof, self.form = proof, form
        self.M = form.M * (1 << (own - self.unit))
        self.need = (Fraction(proof.bound) - form.constant) / Fraction(proof.unit) / Fraction(2) ** self.unit
        self.at, self.priced, self.paid = -1, self.M, 0

    def _take(self, at: int) -> None:
        """M less the triangles of a set, with what goes with them, and what all of it costs."""
        begin, end = self.proof.ends[at : at + 2].tolist()
        triangles = self.proof.triangles[begin:end]
        prices = whole(self.proof.prices[begin:end], self.unit)
        half = prices // 2  # without a rest: units are half as large as the least bit
        merged = whole(self.proof.merged[at], self.unit)
        self.at, self.priced, self.paid = at, self.M.copy(), sum(prices.tolist()) + int(merged.sum())
        self.priced[np.diag_indices(len(merged))] += merged
        for pair, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))):
            change = half * SIGNS[triangles[:, 3], pair].astype(object)
            np.subtract.at(self.priced, (triangles[:, a], triangles[:, b]), change)
            np.subtract.at(self.priced, (triangles[:, b], triangles[:, a]), change)

    def reaches(self, at: int, part: Part) -> bool:
        if not 0 <= at < len(self.proof.y):
            return False
        if self.proof.sets[at] != self.at:
            self._take(int(self.proof.sets[at]))
        y = whole(self.proof.y[at], self.unit)
        G = self.priced.copy()
        G[np.diag_indices(len(G))] += y
        lack = lacking(part.reduced(G))
        return lack is not None and -int(y.sum()) - self.paid - lack >= self.need

    def points_reach(self, part: Part) -> bool:
        """Whether all points of a part have such a value."""
        R = part.reduced(self.M)
        k = len(R)
        if k > MOST_POINTS:
            return False
        if k == 0:
            return self.need <= 0
        kind = np.int64 if int(np.abs(R).sum()) < SMALL_SUM else object
        codes = np.arange(2 ** (k - 1))[:, None] >> np.arange(k)  # the last spin is up: -w is as w
        W = (1 - 2 * (codes & 1)).astype(kind)
        return int(np.min(np.sum((W @ R.astype(kind)) * W, axis=1))) >= self.need
