"""Clauses in the template: a clause is a hinge of its number of true literals.

With x in {0,1}^n the literals of a clause that are true number t = sum of x_v over its plain variables plus
sum of (1 - x_v) over its negated ones, and max(0, 1 - t) is 1 where the clause is false and 0 elsewhere.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcra._array import Array
from dcra.apps.maxsat.clauses import Clauses
from dcra.model.problem import Problem
from dcra.model.term import Term

if TYPE_CHECKING:
    from dcra._kernels.formula import Formula

Host = NDArray[Any]


class ClauseProblem(Problem):
    """Weight of false clauses, over x in {0,1}^n; a false hard clause costs `clauses.top`.

    An ordinary problem to every method; "auto" runs the search over clauses, "exact" RC2 where there is one.
    """

    specialist: ClassVar[str] = "dcra.apps.maxsat.plan:SPECIALIST"
    prover: ClassVar[str] = "dcra.apps.maxsat.exact:proof_plan"
    constraint_kind: ClassVar[str] = "clause"

    def __init__(self, clauses: Clauses) -> None:
        self.clauses = clauses
        kinds = [(~clauses.hard, clauses.weight), (clauses.hard, np.full(clauses.m, clauses.top))]
        terms = [_hinge(clauses, rows, weight) for rows, weight in kinds if rows.any()]
        super().__init__(terms, linear=None if terms else np.zeros(clauses.n), domain="binary")
        self.clause_terms = self.terms

    @property
    def charges_its_clauses(self) -> bool:
        """Whether the objective is still the cost of the clauses, or more by what added terms charge.

        After `replace` it may be another one, of which searches and bounds over clauses know nothing.
        """
        count = len(self.clause_terms)
        return (
            self.terms[:count] == self.clause_terms
            and all(term.loss.positive for term in self.terms[count:])
            and (self.linear is None or not np.any(self.linear))
            and self.quadratic is None
            and self.constant == 0
            and self.domain == "binary"
        )

    @cached_property
    def formula(self) -> Formula:
        """The clauses as the compiled loops see them."""
        from dcra.apps.maxsat.scales import build_formula

        return build_formula(self.clauses)

    @property
    def n_constraints(self) -> int:
        """Hard clauses."""
        return int(np.count_nonzero(self.clauses.hard))

    def violation(self, x: Array) -> Any:
        """False hard clauses, or what a row is off by where that is more: a float, or (k,) for x (k, n)."""
        rows = super().violation(x)
        if not self.clauses.hard.any():
            return rows
        points = self.check_point("x", x)
        if points.ndim == 1:
            return max(float(self.clauses.violated(points)), rows)
        return np.maximum([float(self.clauses.violated(point)) for point in points], rows)


class QuadraticForm(NamedTuple):
    """constant + h's + s'Js over spins s, J upper triangular with zero diagonal (scipy.sparse)."""

    h: Host
    J: Any
    constant: float


def _hinge(clauses: Clauses, rows: NDArray[np.bool_], weight: Host) -> Term:
    """sum of w max(0, 1 - t) over some of the clauses, as w max(0, Ax - b) with A = -signs."""
    lengths = clauses.lengths
    inside = np.repeat(rows, lengths)
    literals = clauses.literals[inside]
    ptr = np.concatenate([[0], np.cumsum(lengths[rows])])
    signs = np.sign(literals)
    A = sparse.csr_array(
        (-signs.astype(np.float64), np.abs(literals) - 1, ptr), shape=(ptr.size - 1, clauses.n)
    )
    negated = np.concatenate([[0], np.cumsum(signs < 0)])
    b = (negated[ptr[1:]] - negated[ptr[:-1]]) - 1.0
    w = weight[rows].astype(np.float64)
    return Term("hinge", A.tocsc(), b, float(w[0]) if np.all(w == w[0]) else w)


def quadratic_form(clauses: Clauses, weight: Host | None = None) -> QuadraticForm:
    """Clauses of at most two literals as (1 - l1)(1 - l2)/4 of spins l = +-s: exact, and quadratic.

    What bounds of quadratic problems, such as the semidefinite one, start from.

    Parameters
    ----------
    clauses : Clauses
    weight : (m,) array, optional
        What false clauses count; by default their weights, and `top` for hard ones.

    Examples
    --------
    >>> from dcra.apps.maxsat import Clauses, quadratic_form
    >>> h, J, constant = quadratic_form(Clauses.of([[1, -2], [1]]))
    >>> h.tolist(), J.toarray().tolist(), constant
    ([-0.75, 0.25], [[0.0, -0.25], [0.0, 0.0]], 0.75)
    """
    lengths = clauses.lengths
    if np.any(lengths > 2):
        longest = int(lengths.max())
        raise ValueError(f"`clauses` must have at most two literals to be quadratic; found one of {longest}")
    if weight is None:
        weight = np.where(clauses.hard, clauses.top, clauses.weight).astype(np.float64)
    h = np.zeros(clauses.n)
    first = clauses.ptr[:-1]
    one, two = np.flatnonzero(lengths == 1), np.flatnonzero(lengths == 2)
    variables, signs = np.abs(clauses.literals) - 1, np.sign(clauses.literals).astype(np.float64)
    np.add.at(h, variables[first[one]], -0.5 * weight[one] * signs[first[one]])
    a, b = first[two], first[two] + 1
    for literal in (a, b):
        np.add.at(h, variables[literal], -0.25 * weight[two] * signs[literal])
    products = 0.25 * weight[two] * signs[a] * signs[b]
    J = sparse.csr_array((products, (variables[a], variables[b])), shape=(clauses.n, clauses.n))
    constant = weight[lengths == 0].sum() + 0.5 * weight[one].sum() + 0.25 * weight[two].sum()
    return QuadraticForm(h, J, float(constant))
