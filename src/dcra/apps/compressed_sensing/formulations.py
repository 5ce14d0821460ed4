"""The paper's two ways to write min |Ax - y|_1 + lam |x|_1 over {0,1}^N with spins z = 2x - e."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dcra._array import Array, namespace
from dcra.losses import L1, Loss
from dcra.model.problem import Problem
from dcra.model.term import Term


def binary_problem(A: Any, y: Array, lam: float = 0.0, loss: str | Loss = "l1") -> Problem:
    """f(Ax - y) + lam e'x over {0,1}^N."""
    term = Term(loss, A, y)
    linear = None if lam == 0 else np.full(term.operator.shape[1], float(lam))
    return Problem([term], linear=linear, domain="binary")


def change_of_variables(A: Any, y: Array, lam: float) -> Problem:
    """|A'z - b'|_1 + (lam/2) e'z + lam N/2 over spins, with A' = A/2 and b' = y - Ae/2."""
    return binary_problem(A, y, lam).to_spin()


def augmented(A: Any, y: Array, lam: float) -> Problem:
    """One loss of the stack [A'; I] z - [b'; 0]: l1 on the rows of A', linear on those of I."""
    spin = change_of_variables(A, y, lam)
    half, shift = spin.terms[0].operator.A, spin.terms[0].b
    r, n = half.shape
    if sp.issparse(half):
        blocks: Any = [half, sp.eye_array(n)]
        stack: Any = sp.vstack(blocks, format="csc")
    else:
        stack = np.vstack([half, np.eye(n)])
    b = np.concatenate([shift, np.zeros(n)])
    return Problem([Term(StackedL1(r, lam / 2), stack, b)], constant=spin.constant)


@dataclass(frozen=True)
class StackedL1(Loss):
    """|u_1..rows|_1 + slope * sum of the others: the paper's augmented loss for c = slope e."""

    rows: int
    slope: float
    convex: ClassVar[bool] = True

    def value(self, z: Array) -> Array:
        top, rest = self._blocks(z)
        return L1().value(top) + self.slope * namespace(z).sum(rest, axis=-1)

    def prox(self, z: Array, step: Array | float) -> Array:
        top, rest = self._blocks(z)
        return namespace(z).concat([L1().prox(top, step), rest - step * self.slope], axis=-1)

    def envelope_grad(self, z: Array, step: Array | float) -> Array:
        top, rest = self._blocks(z)
        xp = namespace(z)
        return xp.concat([L1().envelope_grad(top, step), xp.full_like(rest, self.slope)], axis=-1)

    def conjugate(self, y: Array) -> Array:
        top, rest = self._blocks(y)
        xp = namespace(y)
        linear = xp.all(rest == self.slope, axis=-1)
        inside = L1().conjugate(top)
        return xp.where(linear, inside, inf * xp.ones_like(inside))

    def _blocks(self, z: Array) -> tuple[Array, Array]:
        return z[..., : self.rows], z[..., self.rows :]
