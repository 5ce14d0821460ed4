"""Constraints that may be violated at a price: terms of the objective, reported apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Host, from_numpy, is_numpy, namespace, to_numpy
from dcra.foreign import importing
from dcra.messages import shown
from dcra.model.constraints import Constraints, named
from dcra.model.logic import is_counting
from dcra.model.term import Term


@dataclass(frozen=True, eq=False)
class Soft:
    """A constraint and what each unit of its violation costs; made by `soft`."""

    constraint: Any
    weight: float


def soft(constraint: Any, weight: float = 1.0) -> Soft:
    """A constraint that may be violated: `weight` times its violation is part of the objective.

    Parameters
    ----------
    constraint : LinearConstraint, `exactly`, `at_most`, `at_least`, `clause`, `one_of` or `implies`
    weight : float
        What a unit of violation costs: a unit of a row, or, of constraints that count, a variable.

    Examples
    --------
    >>> import dcra
    >>> wish = dcra.soft(dcra.at_least(2), weight=0.5)
    >>> result = dcra.solve(dcra.Problem(linear=[1.0, 0.2], domain="binary", constraints=wish))
    >>> result.x, result.soft_violations
    (array([0., 1.]), {'constraints[0], at_least(2)': 1.0})
    """
    if isinstance(constraint, Soft):
        raise TypeError("`constraint` must be a constraint that is not soft already")
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.integer | np.floating):
        raise TypeError(f"`weight` must be a number; got {shown(weight)}")
    if not 0 <= weight < np.inf:
        raise ValueError(f"`weight` must be finite and not negative; got {weight!r}")
    return Soft(constraint, float(weight))


class SoftRows:
    """All soft constraints of a problem, as rows with their prices."""

    def __init__(self, given: Mapping[str, Soft], n: int, values: tuple[float, float]) -> None:
        self.rows = Constraints({name: one.constraint for name, one in given.items()}, n, values)
        flip = values[1] - values[0]
        weights, units = [], []
        for name, one in given.items():
            count = len(Constraints({name: one.constraint}, n, values)) if len(given) > 1 else len(self.rows)
            unit = flip if is_counting(one.constraint) else 1.0
            weights.append(np.full(count, one.weight))
            units.append(np.full(count, unit))
        self.weights, self.units = np.concatenate(weights), np.concatenate(units)

    def terms(self, like: Any) -> list[Term]:
        return penalty_terms(self.rows, self.weights / self.units, like)

    def violations(self, x: Host) -> dict[str, float]:
        """By how much each row is violated at x (n,), those that are."""
        excess = self.rows.excess(x) / self.units
        return {self.rows.names[i]: float(excess[i]) for i in np.flatnonzero(excess)}

    def cost(self, x: Host) -> float:
        """What that costs."""
        return float(self.weights @ (self.rows.excess(x) / self.units))

    def __len__(self) -> int:
        return len(self.rows)


def split(given: Any) -> tuple[dict[str, Any], dict[str, Soft]]:
    """Constraints that must hold and those that may not, by name."""
    every = named(given)
    hard = {name: one for name, one in every.items() if not isinstance(one, Soft)}
    return hard, {name: one for name, one in every.items() if isinstance(one, Soft)}


def penalty_terms(constraints: Constraints, weights: Host, like: Any) -> list[Term]:
    """w |Gx - b| for equalities, w max(0, Gx - high) and w max(0, low - Gx) for the rest."""
    with importing():
        from scipy import sparse

    equal = constraints.equalities
    above = ~equal & np.isfinite(constraints.high)
    below = ~equal & np.isfinite(constraints.low)
    terms = []
    if equal.any():
        rows = np.flatnonzero(equal)
        middle = 0.5 * (constraints.low[rows] + constraints.high[rows])
        terms.append(Term("l1", _matrix(constraints.G[rows], like), middle, weights[rows]))
    if above.any() or below.any():
        up, down = np.flatnonzero(above), np.flatnonzero(below)
        G = sparse.vstack([constraints.G[up], -constraints.G[down]], format="csr")
        ends = np.concatenate([constraints.high[up], -constraints.low[down]])
        charge = np.concatenate([weights[up], weights[down]])
        terms.append(Term("hinge", _matrix(G, like), ends, charge))
    return terms


def _matrix(G: Any, like: Any) -> Any:
    """G in the array library of the other terms, and in their float type where that holds its numbers."""
    short = to_numpy(like).dtype
    held = np.array_equal(G.data.astype(short).astype(np.float64), G.data)
    if is_numpy(like):
        return G.astype(short if held else np.float64)
    return from_numpy(G.toarray(), like, like.dtype if held else namespace(like).float64)
