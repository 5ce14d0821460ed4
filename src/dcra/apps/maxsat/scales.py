"""Clauses for the compiled loops, and the scales of weights and temperatures that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra._kernels.formula import Formula, formula
from dcra.apps.maxsat.clauses import Clauses

LIGHT_SHARE = 0.25
"""The last temperature is at most this share of a light clause's weight."""


def build_formula(clauses: Clauses) -> Formula:
    """The clauses that have literals, for the loops."""
    some = clauses.lengths > 0
    ptr = np.concatenate([[0], np.cumsum(clauses.lengths[some])])
    return formula(ptr, clauses.literals, clauses.n, clauses.weight[some], clauses.hard[some])


def empty_cost(clauses: Clauses) -> float:
    """What clauses without literals cost at every point."""
    empty = clauses.lengths == 0
    firm = np.count_nonzero(clauses.hard & empty)
    return float(clauses.weight[empty].sum()) + float(firm) * clauses.top


def penalties(f: Formula, share: float) -> NDArray[Any]:
    """Weights to anneal on: a hard clause outweighs what any of its variables could gain by breaking it."""
    hard = f.hard > 0
    if not hard.any():
        return f.cost
    m, n = f.hard.size, f.occ_ptr.size - 1
    clause = np.repeat(np.arange(m), np.diff(f.ptr))
    load = np.bincount(f.lit >> 1, weights=f.cost[clause], minlength=n)
    heaviest = np.maximum.reduceat(load[f.lit >> 1], f.ptr[:-1])
    return np.where(hard, share * np.maximum(heaviest, f.cost.max() or 1.0), f.cost)


def typical_change(f: Formula, weight: NDArray[Any]) -> float:
    """Root mean square of what a flip changes at random points: k literals matter with chance 2^(1-k)."""
    lengths = np.diff(f.ptr)
    squares = weight**2 * np.exp2(1.0 - lengths) * lengths
    return float(np.sqrt(squares.sum() / (f.occ_ptr.size - 1))) or 1.0


def lightest(f: Formula) -> float:
    """A light soft clause: nine of ten weigh as much or more."""
    soft = f.cost[f.hard == 0]
    return float(np.quantile(soft, 0.1)) if soft.size else 1.0
