"""ADMM for min h(Ax - b) + q'x + alpha/2 <v, x>^2 over an intersection of simple sets.

h is the sum of all losses with their weights. The split is w = Ax - b and one copy y_i = x per set; with the
multipliers z of the copies, m of the residual, one step is

    x    from  rho (theta A'A + k I) x + alpha v v'x = A'(theta rho (w + b) - m) + sum_i (rho y_i - z_i) - q
    y_i <- projection on set i of x + z_i/rho,    z_i <- z_i + gamma rho (x - y_i)
    w   <- prox of h/(theta rho) at Ax - b + m/(theta rho),    m <- m + gamma theta rho (Ax - b - w).

The ratio theta of the two penalties stays, so that one factorisation serves for any rho.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dcra import costs
from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece
from dcra.compiled.units import natural_units
from dcra.foreign import Lock, importing

Projection = Callable[[Array], Array]


def onto_box(X: Array) -> Array:
    return namespace(X).clip(X, -1.0, 1.0)


def onto_sphere(X: Array) -> Array:
    """The point of the sphere |x|^2 = n nearest to each row; from 0, the ones."""
    xp = namespace(X)
    size = xp.linalg.vector_norm(X, axis=-1, keepdims=True)
    radius = X.shape[-1] ** 0.5
    return xp.where(size > 0, radius * X / xp.where(size > 0, size, xp.ones_like(size)), xp.ones_like(X))


class Splitting:
    """Points X (k, n) on their way; `rho` may be changed between steps."""

    def __init__(
        self, compiled: Compiled, X: Array, sets: Sequence[Projection], rho: float, gamma: float
    ) -> None:
        self.compiled, self.sets, self.rho, self.gamma = compiled, sets, rho, gamma
        self.theta = ratios(compiled, rho)
        self.system = factorised(compiled, self.theta, float(len(sets)))
        self.X = X
        self.Z = compiled.residual(X)  # Ax - b
        self.W = self.Z + 0.0
        self.M = 0 * self.Z
        self.copies = [project(X) for project in sets]
        self.multipliers = [0 * X for _ in sets]
        self.primal = self.dual = np.inf
        self._offset = _size(compiled.residual_at_zero) * X.shape[0] ** 0.5

    def step(self, q: Array, rank_one: tuple[Array, Array, float] | None = None) -> None:
        """One step for the linear part q; `rank_one` is (v, its solution of the system, alpha)."""
        compiled, rho, gamma = self.compiled, self.rho, self.gamma
        theta = self._rowwise(self.theta)
        pulled = compiled.pull(theta * (self.W - compiled.residual_at_zero) - self.M / rho)
        right = pulled - (0.0 if compiled.c is None else compiled.c) - q / rho
        for Y, z in zip(self.copies, self.multipliers, strict=True):
            right = right + Y - z / rho
        self.X = X = self.system(right) if rank_one is None else self._corrected(right, *rank_one)
        self.Z = Z = compiled.residual(X)
        moved = 0.0
        for i, project in enumerate(self.sets):
            Y = project(X + self.multipliers[i] / rho)
            moved = max(moved, _size(Y - self.copies[i]))
            self.copies[i] = Y
            self.multipliers[i] = self.multipliers[i] + gamma * rho * (X - Y)
        at = Z + self.M / (theta * rho)
        W = at - proximal_slopes(compiled, at, [1 / (t * rho) for t in self.theta]) / (theta * rho)
        scale = max(self._offset, _size(Z - compiled.residual_at_zero), 1e-300)  # |b| and |Ax|
        shift = _size(W - self.W) / scale
        self.W, self.M = W, self.M + gamma * rho * theta * (Z - W)
        reach = compiled.n**0.5
        self.primal = max(_size(Z - W) / scale, *(_size(X - Y) / reach for Y in self.copies))
        self.dual = max(shift, moved / reach)

    @property
    def apart(self) -> float:
        """max_i |x - y_i| / |x|."""
        return max(_size(self.X - Y) for Y in self.copies) / max(_size(self.X), 1e-300)

    def _corrected(self, right: Array, v: Array, solved: Array, alpha: float) -> Array:
        """Sherman and Morrison's formula for the rank-one part."""
        xp = namespace(right)
        x = self.system(right)
        a = alpha / self.rho
        share = (
            a * xp.sum(v * x, axis=-1, keepdims=True) / (1 + a * xp.sum(v * solved, axis=-1, keepdims=True))
        )
        return x - share * solved

    def _rowwise(self, values: Sequence[float]) -> Array:
        """One number per piece, repeated over its rows."""
        sizes = [p.where.stop - p.where.start for p in self.compiled.pieces]
        return from_numpy(np.repeat(np.asarray(values, float), sizes), self.compiled.like)


def proximal_slopes(compiled: Compiled, Z: Array, deltas: Sequence[float]) -> Array:
    """(Z - prox)/delta of each piece with its weight: the gradient of its envelope with parameter delta."""
    parts = [_slopes(p, Z[..., p.where], d) for p, d in zip(compiled.pieces, deltas, strict=True)]
    return parts[0] if len(parts) == 1 else namespace(Z).concat(parts, axis=-1) if parts else Z


def _slopes(p: Piece, z: Array, delta: float) -> Array:
    a, w = p.argument, p.weight
    if isinstance(w, float):
        return w * a * p.loss.envelope_grad(a * z, delta * w * a * a) if w > 0 else 0 * z
    xp = namespace(z)
    step = delta * a * a * xp.where(w > 0, w, xp.ones_like(w))  # rows without weight are multiplied by 0
    return w * a * p.loss.envelope_grad(a * z, step)


def natural_rho(compiled: Compiled) -> float:
    """The gradient that reaches one variable: what a copy of x may be charged for a distance of one."""
    return natural_units(compiled).rho


def ratios(compiled: Compiled, rho: float) -> tuple[float, ...]:
    """theta of each piece: the penalty of its residuals, 1/(theta rho), in their natural unit."""
    units = natural_units(compiled).delta
    found = []
    for p, delta in zip(compiled.pieces, units, strict=True):
        weight = p.heaviest or 1.0
        curvature = p.argument**2 * p.loss.curvature * weight if p.smooth else 0.0
        found.append((weight / delta if delta > 0 else curvature or 1.0) / rho)
    return tuple(found)


_known: WeakKeyDictionary[Compiled, dict[Any, Callable[[Host], Host]]] = WeakKeyDictionary()
_factoring = Lock()


def factorised(compiled: Compiled, theta: tuple[float, ...], shift: float) -> Callable[[Array], Array]:
    """The solution of (sum_t theta_t A_t'A_t + shift I) x = right, for rows of right; factorised once."""
    with _factoring.held:
        known = _known.setdefault(compiled, {})
        if (theta, shift) not in known:
            known[theta, shift] = _factorise(compiled, theta, shift)
        solve, like = known[theta, shift], compiled.like
    return lambda V: from_numpy(solve(to_numpy(V).astype(np.float64)), like)


def factor_work(compiled: Compiled) -> int:
    """What that costs, in entries of A."""
    small = min(compiled.n, compiled.n_rows)
    return compiled.work_per_pass * (4 + int(small * costs.PASS_RATE / costs.FACTOR_RATE))


def _factorise(compiled: Compiled, theta: tuple[float, ...], shift: float) -> Callable[[Host], Host]:
    if not compiled.pieces:
        return lambda V: V / shift
    roots = [t**0.5 for t in theta]
    operators = [p.operator for p in compiled.pieces]
    if all(A.sparse for A in operators):
        return _sparse_factor([A.on_host() * t for A, t in zip(operators, roots, strict=True)], shift)
    dense = [A.dense().astype(np.float64) * t for A, t in zip(operators, roots, strict=True)]
    return _dense_factor(np.concatenate(dense), shift)


def _dense_factor(B: Host, shift: float) -> Callable[[Host], Host]:
    """Cholesky of the smaller of B'B and BB', the larger through Woodbury's formula."""
    with importing():
        from scipy.linalg import cho_factor, cho_solve

    r, n = B.shape
    shift = _seen(shift, n, float(np.max(np.sum(B * B, axis=0))))
    if n <= r:
        factor = cho_factor(B.T @ B + shift * np.eye(n))
        return lambda V: cho_solve(factor, V.T).T
    factor = cho_factor(B @ B.T + shift * np.eye(r))
    return lambda V: (V - cho_solve(factor, (V @ B.T).T).T @ B) / shift


def _sparse_factor(blocks: list[Any], shift: float) -> Callable[[Host], Host]:
    with importing():
        from scipy import sparse
        from scipy.sparse.linalg import splu

    B = sparse.vstack(blocks, format="csc").astype(np.float64)
    gram = sparse.csc_array(B.T @ B)
    shift = _seen(shift, B.shape[1], float(np.max(gram.diagonal())))
    factor = splu(sparse.csc_array(gram + shift * sparse.eye_array(B.shape[1])))
    return lambda V: np.ascontiguousarray(factor.solve(np.ascontiguousarray(V.T)).T)


def _seen(shift: float, n: int, largest: float) -> float:
    """A shift that is not lost in the rounding of the matrix: it keeps it positive definite."""
    return max(shift, 16 * n * float(np.finfo(float).eps) * largest)


def _size(X: Array) -> float:
    return float(namespace(X).linalg.vector_norm(X))
