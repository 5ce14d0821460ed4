"""Proofs checked: every conclusion is drawn again from its slopes, by whole numbers if there is time."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from dcra._array import Host, from_numpy, namespace
from dcra._kernels.branching import Event
from dcra.exact.certificate import Certificate, form_digest
from dcra.exact.couplings_certificate import AnyCertificate, PairCertificate
from dcra.exact.couplings_verification import verify_couplings
from dcra.exact.kinks import KinkForm, Unfit, has_kinks, kink_form
from dcra.exact.verdict import Refuted, Verdict
from dcra.exact.whole_numbers import last_bit, whole
from dcra.model.exact_value import exact_value
from dcra.model.problem import Problem
from dcra.model.rounding import error_at

MOST_PRODUCTS = 200_000_000
"""Products of whole numbers up to which a check is without any rounding, unless it is asked otherwise."""


class Scales(Protocol):
    """Whether slopes number `at` show that no point of a box falls below the cutoff."""

    def reaches(self, at: int, box: Host) -> bool: ...

    def point_reaches(self, box: Host) -> bool: ...


def verify(proof: AnyCertificate, problem: Problem, exact: bool | None = None) -> Verdict:
    """Check a proof against a problem; raises `Refuted` where it does not hold.

    Parameters
    ----------
    proof : Certificate or PairCertificate
    problem : Problem
    exact : bool, optional
        Whether to compute without rounding; else in float64, less the most that rounding can cost. By
        default, where that takes no more than some seconds. Couplings are always checked without rounding.
    """
    if isinstance(proof, PairCertificate):
        return verify_couplings(proof, problem)
    form = _form_of(problem, proof)
    if form_digest(form) != proof.problem:
        raise Refuted("the proof is that of another problem")
    if proof.ends.shape[1:] != (form.r,) or proof.point.shape != (form.n,):
        raise Refuted(f"the proof must have slopes for {form.r} rows and a point of {form.n} variables")
    Y = proof.slopes(form)
    if not np.all((form.lo <= Y) & (form.hi >= Y) & np.isfinite(Y)):
        raise Refuted("the proof rests on slopes that no loss has")
    if exact is None:
        exact = len(Y) * form.A.size <= MOST_PRODUCTS
    kind = WholeNumbers if exact else Rounded
    nodes = _follow(proof, form, kind(problem, form, Y, proof.cutoff))
    fun = _value(problem, np.where(proof.point > 0, form.high, form.low))
    return Verdict(_bound(form, proof.cutoff), fun, exact, nodes)


def _bound(form: KinkForm, cutoff: float) -> Fraction:
    """What a cutoff says about F."""
    return Fraction(cutoff) * Fraction(form.unit) + Fraction(form.constant)


def _value(problem: Problem, x: Host) -> Fraction:
    """F(x), x (n,), without rounding; of logistic losses, less what rounding may cost."""
    found = exact_value(problem, x)
    if found is not None:
        return found
    point = from_numpy(x, problem.like, namespace(problem.like).float64)
    return Fraction(float(problem.relaxed_objective(point))) - Fraction(error_at(problem, point))


def _form_of(problem: Problem, proof: Certificate) -> KinkForm:
    if not has_kinks(problem):
        raise Refuted("the problem is none that trees of method 'exact' can prove")
    if proof.mesh.size != len(problem.terms):
        raise Refuted("the proof is that of another problem")
    try:
        return kink_form(problem, tuple(proof.mesh.tolist()))
    except Unfit as error:
        raise Refuted("the scales of the problem do not go together") from error


def _follow(proof: Certificate, form: KinkForm, scales: Scales) -> int:
    """Go through all events; the nodes of the tree, none of which may be left open."""
    boxes = {0: np.zeros(form.n, np.int8)}
    known = 1
    for kind, node, variable, at in proof.events.tolist():
        box = boxes.get(node)
        if box is None:
            raise Refuted(f"node {node} is spoken of where it is not open")
        if kind in (Event.TO_LOW, Event.TO_HIGH, Event.BRANCH) and not (
            0 <= variable < form.n and box[variable] == 0
        ):
            raise Refuted(f"variable {variable} is not free at node {node}")
        if kind in (Event.TO_LOW, Event.TO_HIGH):
            box[variable] = 1 if kind == Event.TO_LOW else -1  # what is to be ruled out
            if not scales.reaches(at, box):
                raise Refuted(f"variable {variable} cannot be fixed at node {node}")
            box[variable] *= -1
        elif kind == Event.BRANCH:
            known = _divide(boxes, node, variable, at, known)
        elif kind in (Event.LEAF, Event.POINT):
            if not (scales.reaches(at, box) if kind == Event.LEAF else scales.point_reaches(box)):
                raise Refuted(f"node {node} is not closed")
            del boxes[node]
        else:
            raise Refuted(f"there are no events of kind {kind}")
    if boxes:
        raise Refuted(f"{len(boxes)} nodes are left open")
    return known


def _divide(boxes: dict[int, Host], node: int, variable: int, child: int, known: int) -> int:
    """Put two children in the place of a node."""
    if child in boxes or child + 1 in boxes or child < 1:
        raise Refuted(f"node {node} has children that are there already")
    box = boxes.pop(node)
    for number, side in ((child, -1), (child + 1, 1)):
        boxes[number] = box.copy()
        boxes[number][variable] = side
    return known + 2


class Rounded:
    """In float64, less the most that rounding can cost; points, and what is in doubt, without rounding."""

    def __init__(self, problem: Problem, form: KinkForm, Y: Host, cutoff: float) -> None:
        self.problem, self.form, self.Y, self.cutoff = problem, form, Y, cutoff

    @cached_property
    def without(self) -> WholeNumbers:
        return WholeNumbers(self.problem, self.form, self.Y, self.cutoff)

    def reaches(self, at: int, box: Host) -> bool:
        bound = self.form.bounds(self.Y[at : at + 1], box[None])[0]
        return bool(bound >= self.cutoff) or self.without.reaches(at, box)

    def point_reaches(self, box: Host) -> bool:
        return self.without.point_reaches(box)


class WholeNumbers:
    """Without rounding: all numbers are whole multiples of powers of two."""

    def __init__(self, problem: Problem, form: KinkForm, Y: Host, cutoff: float) -> None:
        self.problem, self.form, self.Y, self.cutoff = problem, form, Y, Fraction(cutoff)
        self.least = _bound(form, cutoff)
        self.unit = min(last_bit(form.A), last_bit(form.b))
        self.A, self.b = whole(form.A, self.unit), whole(form.b, self.unit)
        self.at = -1
        self.q: list[Fraction] = []
        self.base = Fraction(0)

    def reaches(self, at: int, box: Host) -> bool:
        if at != self.at:
            self._take(at)
        return self._value(box) >= self.cutoff

    def _take(self, at: int) -> None:
        """q = A'y + c and -b'y of slopes number `at`."""
        y = self.Y[at]
        rows = np.flatnonzero(y)
        unit = last_bit(y[rows])
        own = whole(y[rows], unit)
        factor = Fraction(2) ** (unit + self.unit)
        products = own.dot(self.A[rows]) if rows.size else np.zeros(self.form.n, object)
        self.q = [int(p) * factor + c for p, c in zip(products, self._c, strict=True)]
        self.base = -int(own.dot(self.b[rows])) * factor if rows.size else Fraction(0)
        self.at = at

    @cached_property
    def _c(self) -> list[Fraction]:
        return [Fraction(c) for c in self.form.c.tolist()]

    def _value(self, box: Host) -> Fraction:
        low, high = Fraction(self.form.low), Fraction(self.form.high)
        total = self.base
        for q, side in zip(self.q, box.tolist(), strict=True):
            if side:
                total += (high if side > 0 else low) * q
            else:
                total += min(low * q, high * q)
        return total

    def point_reaches(self, box: Host) -> bool:
        """Whether the only point of a box has such an objective, or violates a constraint."""
        if not np.all(box):
            return False
        x = np.where(box > 0, self.form.high, self.form.low)
        constraints = self.problem.constraints  # by the problem's own words: rows of the form are wider
        violated = constraints is not None and bool(constraints.violation(x[None])[0] > 0)
        return violated or _value(self.problem, x) >= self.least
