"""Block sweeps on the box form, for many starts at once: plain array code, any library, any loss.

The penalty is measured along v0, p - |V'v0|^2 = sum_j (1 - x_j^2), so a column of V is its x_j in [-1, 1]:

    env(Ax - b) + c'x + x'Jx + rho sum_j (t_j + shape t_j^2 / 2),  t_j = 1 - x_j^2.

Where there are couplings J, rho begins at the smallest eigenvalue of J, not at 0: the form is convex there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcra._array import Array, from_numpy, namespace, set_columns
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Smoothing
from dcra.compiled.quadratic import SpinQuadratic
from dcra.engines.rule import Rule
from dcra.model.operators import MatrixFree, Operator, norm_estimate

WIDTH = 64


@dataclass(frozen=True, eq=False)
class Block:
    """Columns lo..hi of every piece, with the squared norm of each piece's block."""

    lo: int
    hi: int
    operators: tuple[Operator, ...]
    norms: tuple[float, ...]
    quadratic: SpinQuadratic | None = None
    bend: float = 0.0  # curvature of x'(J + convexity I)x along these columns

    def curvature(self, compiled: Compiled, delta: Smoothing) -> float:
        """Largest curvature of the smoothed losses along these columns."""
        parts = zip(compiled.pieces, compiled.deltas(delta), self.norms, strict=True)
        return self.bend + sum(piece.curvature(d) * norm for piece, d, norm in parts)


def blocks_of(compiled: Compiled, width: int = WIDTH) -> list[Block]:
    """Contiguous blocks of columns; a single one where A has products only."""
    n = compiled.n
    width = min(width, n) if compiled.has_columns else n
    blocks = []
    for lo in range(0, n, width):
        hi = min(n, lo + width)
        operators = tuple(p.operator.columns(lo, hi) for p in compiled.pieces)
        norms = tuple(squared_norm(op) for op in operators)
        blocks.append(Block(lo, hi, operators, norms, *_coupled(compiled, lo, hi)))
    return blocks


def convexity(compiled: Compiled) -> float:
    """How much x'x makes the couplings convex: minus their smallest eigenvalue, with a margin."""
    return 0.0 if compiled.quadratic is None else max(0.0, -1.05 * compiled.quadratic.extremes[0])


def _coupled(compiled: Compiled, lo: int, hi: int) -> tuple[SpinQuadratic | None, float]:
    """The couplings of a block to all variables, and its curvature."""
    form = compiled.quadratic
    if form is None:
        return None, 0.0
    top = max(0.0, 1.05 * form.extremes[1]) if hi - lo > 1 else 0.0  # J has no diagonal
    return form.columns(lo, hi), 2 * (top + convexity(compiled))


def squared_norm(operator: Operator) -> float:
    """||A||_2^2: exact from the Gram matrix of a narrow block, a safe estimate otherwise."""
    if isinstance(operator, MatrixFree) or operator.shape[1] > 4 * WIDTH:
        return (1.05 * norm_estimate(operator)) ** 2
    return float(np.linalg.eigvalsh(operator.gram().astype(np.float64))[-1])


def step(
    compiled: Compiled,
    block: Block,
    X: Array,
    Z: Array,
    rho: Array | float,
    delta: Smoothing,
    rule: Rule,
    before: Array | None = None,
) -> tuple[Array, Array]:
    """New columns of X (k, n) for one block, and the residuals (k, r) that follow from them.

    `before` (k, n) is where columns were before their last step; without it there is no momentum.
    """
    xp = namespace(X)
    old = X[:, block.lo : block.hi]
    G = -2 * rho * old
    if rule.shape:
        G = G * (1 + rule.shape * (1 - old * old))
    if compiled.c is not None:
        G = G + compiled.c[block.lo : block.hi]
    if block.quadratic is not None:
        G = G + 2 * block.quadratic.fields(X)
    Y = compiled.slopes(Z, delta)
    for piece, operator in zip(compiled.pieces, block.operators, strict=True):
        G = G + operator.adjoint(Y[:, piece.where])
    L = rule.kappa * block.curvature(compiled, delta)
    if L > 0:
        last = 0.0 if before is None else rule.momentum * (old - before[:, block.lo : block.hi])
        new = xp.clip(old - G / L + last, -1.0, 1.0)
    else:
        new = xp.where(G == 0, old, -xp.sign(G))
    move = new - old
    parts = [operator.apply(move) for operator in block.operators]
    if parts:
        Z = Z + (parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1))
    return new, Z


def sweep(
    compiled: Compiled,
    blocks: list[Block],
    order: np.ndarray[tuple[int], np.dtype[np.intp]],
    X: Array,
    Z: Array,
    rho: Array | float,
    delta: Smoothing,
    rule: Rule,
    before: Array | None = None,
) -> tuple[Array, Array, Array | None]:
    """One pass over all blocks for X (k, n) with residuals Z (k, r): X, Z and, where given, `before`.

    Without momentum, kappa >= 1/2 makes it a descent.
    """
    for q in order:
        block = blocks[q]
        new, Z = step(compiled, block, X, Z, rho, delta, rule, before)
        if before is not None:
            before = set_columns(before, block.lo, block.hi, X[:, block.lo : block.hi])
        X = set_columns(X, block.lo, block.hi, new)
    return X, Z, before


def first_penalty(compiled: Compiled, blocks: list[Block], delta: Smoothing, count: int) -> Array:
    """A rho for each of `count` starts, small against the curvature; steering does the rest. (count, 1)"""
    curvature = float(np.mean([block.curvature(compiled, delta) for block in blocks]))
    return from_numpy(np.full((count, 1), curvature / 64 or 1.0), compiled.like)


def steered(rho: Array, first: Array, X: Array, progress: float, rule: Rule) -> Array:
    """rho after a sweep, raised or lowered so that the mean of x_j^2 follows progress^power."""
    xp = namespace(X)
    moved = rho * xp.exp(progress**rule.power - xp.mean(X * X, axis=-1, keepdims=True))
    return xp.maximum(moved, rule.least * first)
