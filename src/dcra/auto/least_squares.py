"""Squared losses as a quadratic term: w |As - b|^2 = s'Gs - 2 h's + constant with G = w A'A, h = w A'b.

A flip then costs O(1) to evaluate and O(n) to make, instead of O(r) for either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcra import costs
from dcra._array import Host, to_numpy
from dcra.auto.turns import Turns
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece
from dcra.compiled.quadratic import SpinQuadratic
from dcra.losses import SquaredL2
from dcra.model.operators import DenseMatrix
from dcra.polish.recipes import sweep
from dcra.search.plans import Plan, Repeat

if TYPE_CHECKING:
    from dcra.auto.decision import Traits

MOST_VARIABLES = 4000
"""Beyond this the matrix of products takes more memory than it is worth."""

SHARE = 0.1
"""Share of the time left that computing G may take."""


def anneal_products(traits: Traits) -> Plan:
    """Annealing of the quadratic, and sweeps of the losses by turns: these lead where b is small.

    Answers are judged by the losses as they were.
    """
    from dcra.auto.annealing import Annealing

    annealing = Annealing(recast(traits.compiled))
    return Turns(annealing, Repeat(sweep())) if traits.laid_out else annealing


def worthwhile(compiled: Compiled, seconds_left: float | None) -> bool:
    """Whether all losses are squared, with no fewer rows than variables, and G is quick to compute.

    With fewer rows the sweeps of the box form find more than annealing does.
    """
    if compiled.quadratic is not None or not compiled.pieces or not compiled.tabulated:
        return False
    plain = all(
        isinstance(p.loss, SquaredL2) and isinstance(p.operator, DenseMatrix) for p in compiled.pieces
    )
    n, cost = compiled.n, compiled.n_rows * compiled.n**2 / costs.PRODUCT_RATE
    fitting = plain and n <= min(compiled.n_rows, MOST_VARIABLES)
    return fitting and (seconds_left is None or cost <= SHARE * seconds_left)


def recast(compiled: Compiled) -> Compiled:
    """The same problem with its squared losses turned into couplings, in float64."""
    n = compiled.n
    G, h = np.zeros((n, n)), np.zeros(n)
    offset = compiled.offset
    for piece in compiled.pieces:
        A, b, w = _parts(piece)
        G += (A.T * w) @ A
        h += A.T @ (w * b)
        offset += compiled.value_scale * float(np.sum(w * b * b))
    offset += compiled.value_scale * float(np.trace(G))
    np.fill_diagonal(G, 0.0)
    c = -2.0 * h if compiled.c is None else to_numpy(compiled.c).astype(np.float64) - 2.0 * h
    form = SpinQuadratic(DenseMatrix(G))
    like, scale = np.empty((0, 0)), compiled.value_scale
    made_by = (f"{__name__}:recast",)
    return Compiled(compiled.problem, (), c, offset, scale, like, compiled.loops, form, made_by)


def _parts(piece: Piece) -> tuple[Host, Host, Host]:
    """A, b and the weight of each row in float64, the argument's scale among the weights."""
    assert isinstance(piece.operator, DenseMatrix)
    dense = piece.operator.dense()
    b = to_numpy(piece.b).astype(np.float64)
    weight = piece.weight if isinstance(piece.weight, float) else to_numpy(piece.weight).astype(np.float64)
    return dense.astype(np.float64), b, weight * piece.argument**2 * np.ones(b.size)
