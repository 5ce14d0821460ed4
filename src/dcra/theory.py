"""The paper's statements as functions, so that what is promised can be checked in numbers.

Throughout, `compiled` is a problem in spin form, V a factor of shape (..., m, p) with unit columns and
p = n + 1, `rho` the penalty, `delta` the smoothing (one number, or one per piece; 0 leaves the loss alone), L
the curvature of the step, Lf the constant of `curvature_bound`, and gap means the rank gap p - ||V||_2^2.
Values are those of the compiled form. Constants are computed on the host from the written-out matrix: they
are for checking and for small problems.

Two statements of the paper fail as printed and stand here in corrected form; docs/theory.md says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, isinf, log, sqrt

import numpy as np

from dcra import lift
from dcra._array import Array, Host, from_numpy, namespace, to_numpy
from dcra.compiled.form import Compiled
from dcra.compiled.piece import Piece, Smoothing


def gram(V: Array) -> Array:
    """X = V'V, (..., p, p): positive semidefinite with unit diagonal, of rank at most m (Section III)."""
    xp = namespace(V)
    return xp.matmul(xp.matrix_transpose(V), V)


def factor(X: Host, rank: int) -> Host:
    """V = sqrt(Lambda_m) P_I', (..., rank, p): the way back from X of at most that rank (Section III)."""
    if not 1 <= rank <= X.shape[-1]:
        raise ValueError(f"`rank` must lie between 1 and {X.shape[-1]}, the size of `X`; got {rank}")
    values, vectors = np.linalg.eigh(X)
    leading = np.sqrt(np.clip(values[..., ::-1][..., :rank], 0.0, None))
    V: Host = leading[..., None] * np.swapaxes(vectors[..., ::-1][..., :rank], -1, -2)
    return V


def lifted_product(A: Host, Z: Host) -> Host:
    """calA(Z) = A (z2 + z3)/2, z2' and z3 the first row and column of Z less their corner (eq. 2)."""
    return 0.5 * (Z[..., 0, 1:] + Z[..., 1:, 0]) @ A.T


def lifted_adjoint(A: Host, y: Host) -> Host:
    """calA*(y) = [0, g'; g, 0]/2 with g = A'y, (..., p, p): grad f~(V) = 2 V calA*(y) (Algorithm 2)."""
    g = y @ A
    Z = np.zeros((*g.shape[:-1], g.shape[-1] + 1, g.shape[-1] + 1))
    Z[..., 0, 1:] = Z[..., 1:, 0] = 0.5 * g
    return Z


def matrix(compiled: Compiled) -> Host:
    """The matrices of all pieces, stacked and written out on the host: (n_rows, n)."""
    return np.concatenate([*(_matrix(compiled, p) for p in compiled.pieces), np.empty((0, compiled.n))])


def smoothed_value(compiled: Compiled, V: Array, delta: Smoothing) -> Array:
    """f~(V) = env(A x - b) + c'x at x = W'v0 (eq. 9)."""
    x = lift.relaxed(V)
    return compiled.smoothed(compiled.residual(x), delta) + compiled.linear(x)


def smoothed_gradient(compiled: Compiled, V: Array, delta: Smoothing) -> Array:
    """Gradient of f~ in V (Algorithm 2, line 5)."""
    z = compiled.residual(lift.relaxed(V))
    return lift.gradient(V, compiled.pull(compiled.slopes(z, delta)))


def penalized(compiled: Compiled, V: Array, rho: float, delta: Smoothing) -> Array:
    """Phi(V) = f~(V) + rho (||V||_F^2 - ||V||_2^2) (eq. 9; eq. 6 when `delta` is 0)."""
    gap = namespace(V).sum(V * V, axis=(-2, -1)) - lift.leading_direction(V)[0]
    return smoothed_value(compiled, V, delta) + rho * gap


def subgradient(V: Array) -> Array:
    """Gamma = -2 V P_1 P_1', a subgradient of psi~(V) = -||V||_2^2 (Section IV)."""
    return -2 * lift.spectral_part(V, lift.leading_direction(V)[1])


def surrogate(compiled: Compiled, V: Array, at: Array, rho: float, delta: Smoothing, L: float) -> Array:
    """The subproblem's value at V (eq. 11): for L >= Lf above Phi, and equal to it at the point `at`.

    f~(at) + <grad f~(at), V - at> + rho (||V||_F^2 - ||at||_2^2 + <Gamma(at), V - at>) + L/2 |V - at|^2
    """
    step = V - at
    slope = smoothed_gradient(compiled, at, delta) + rho * subgradient(at)
    penalty = namespace(V).sum(V * V, axis=(-2, -1)) - lift.leading_direction(at)[0]
    return (
        smoothed_value(compiled, at, delta) + _inner(slope, step) + rho * penalty + L / 2 * _inner(step, step)
    )


def stationarity_residual(
    compiled: Compiled, V: Array, rho: float, delta: Smoothing, gamma: Array | None = None
) -> Array:
    """|M - V Diag(V_j'M_j)|_F with M = grad f~(V) + 2 rho V + rho Gamma: the distance of Definition 2.

    Parameters
    ----------
    gamma : (..., m, p) array, optional
        Gamma; that of V itself by default. Proposition 1 evaluates at V^{l+1} with the Gamma of V^l.
    """
    xp = namespace(V)
    gamma = subgradient(V) if gamma is None else gamma
    M = smoothed_gradient(compiled, V, delta) + 2 * rho * V + rho * gamma
    tangent = M - V * xp.sum(V * M, axis=-2, keepdims=True)
    return xp.sqrt(_inner(tangent, tangent))


def slope_bound(compiled: Compiled, delta: Smoothing) -> float:
    """G >= |y| for the slopes y met at any x in the box; sqrt(r) for l1 once `delta` is small."""
    return float(np.linalg.norm([_slope_bound(compiled, p, d) for p, d in _pairs(compiled, delta)]))


def gradient_bound(compiled: Compiled, delta: Smoothing) -> float:
    """||A|| G + |c|: Lipschitz constant in x, on the box, of env(A x - b) + c'x (of F when `delta` is 0)."""
    c = 0.0 if compiled.c is None else float(np.linalg.norm(to_numpy(compiled.c)))
    return _norm(matrix(compiled)) * slope_bound(compiled, delta) + c


def lifted_modulus(compiled: Compiled, delta: Smoothing) -> float:
    """L_f^ = (||A|| G + |c|)/sqrt 2: Lipschitz constant of X -> f~ where |X_ij| <= 1 (Theorem 2)."""
    return gradient_bound(compiled, delta) / sqrt(2)


def curvature_bound(compiled: Compiled, delta: Smoothing) -> float:
    """Lf = (n+1) ||A||^2/delta + ||A|| G + |c|: Lipschitz constant of grad f~ on unit columns (Prop. 1).

    1/delta stands for the largest curvature of the smoothed losses, which is less for losses smooth by
    themselves. For losses that are not convex Lf still majorises, but the gradient need not be Lipschitz.
    """
    curvatures = [p.curvature(d) for p, d in _pairs(compiled, delta)]
    if any(map(isinf, curvatures)):
        return inf
    scaled = [sqrt(k) * _matrix(compiled, p) for k, p in zip(curvatures, compiled.pieces, strict=True)]
    second = _norm(np.concatenate([*scaled, np.empty((0, compiled.n))])) ** 2
    return (compiled.n + 1) * second + gradient_bound(compiled, delta)


def residual_constant(L: float, Lf: float) -> float:
    """C = L + Lf, with which residual <= C |V^{l+1} - V^l|_F (Proposition 1 (iii))."""
    return L + Lf


def lower_bound(compiled: Compiled) -> float:
    """A bound from below of Phi for every rho, delta >= 0: -|c|_1 if no loss is negative, else -inf."""
    if not all(p.loss.positive for p in compiled.pieces):
        return -inf
    return 0.0 if compiled.c is None else -float(np.sum(np.abs(to_numpy(compiled.c))))


def largest_drop(compiled: Compiled, rank: int, rho: float, delta: Smoothing) -> float:
    """A bound of Phi(V) - Phi* over all V: 2 sqrt(n) (||A|| G + |c|) + rho (p - p/m)."""
    p = compiled.n + 1
    return 2 * sqrt(compiled.n) * gradient_bound(compiled, delta) + rho * (p - p / min(rank, p))


def residual_bound(drop: float, steps: int, L: float, Lf: float) -> float:
    """C/sqrt(T) sqrt(2 drop/(L - Lf)) >= the least residual of T steps (Theorem 1).

    Parameters
    ----------
    drop : float
        Phi(V^0) less any lower bound of Phi.
    """
    return residual_constant(L, Lf) * sqrt(2 * drop / (_surplus(L, Lf) * steps))


def steps_to_residual(drop: float, tol: float, L: float, Lf: float) -> int:
    """ceil(2 C^2 drop/((L - Lf) tol^2)): steps that reach a `tol`-stationary V (Theorem 1, Definition 2).

    With max(C, 1) for C: Definition 2 also wants V^l and V^{l+1} within `tol`, which a small C does not give.
    """
    return steps_to_change(drop, tol / max(residual_constant(L, Lf), 1.0), L, Lf)


def steps_to_change(drop: float, tol: float, L: float, Lf: float) -> int:
    """ceil(2 drop/((L - Lf) tol^2)): Algorithm 2 has met |V^{l+1} - V^l|_F <= tol by then (Theorem 1)."""
    return ceil(2 * drop / (_surplus(L, Lf) * tol**2))


def smallest_weight(V: Array) -> Array:
    """mu = min_j |P_j1|, P_1 the leading eigenvector of V'V (Lemma 1)."""
    xp = namespace(V)
    size = xp.abs(projection(V))
    return xp.min(size, axis=-1) / xp.sqrt(xp.sum(size * size, axis=-1))


def varpi(compiled: Compiled, delta: Smoothing, L: float) -> float:
    """varpi = (L + 2 Lf) sqrt p + |grad f~(E/sqrt m)|_F >= |L V - grad f~(V)|_F for every V (Lemma 1)."""
    slope = _reference_slope(compiled, delta)
    return (L + 2 * curvature_bound(compiled, delta)) * sqrt(compiled.n + 1) + slope


def varpi_lin(compiled: Compiled, delta: Smoothing, L: float) -> float:
    """varpi_lin = 4 Lf p + 2 sqrt p |grad f~(E/sqrt m)|_F + 5/2 L p (Proposition 2)."""
    p = compiled.n + 1
    slope = _reference_slope(compiled, delta)
    return 4 * curvature_bound(compiled, delta) * p + 2 * sqrt(p) * slope + 2.5 * L * p


def first_step_threshold(compiled: Compiled, V: Array, delta: Smoothing, L: float, c0: float) -> float:
    """rho_bar = (L p + varpi)/(mu c0): from there on one step from V leaves a gap <= c0^2 (Lemma 1)."""
    p = compiled.n + 1
    return (L * p + varpi(compiled, delta, L)) / (float(smallest_weight(V)) * c0)


def printed_gain(c0: float, p: int) -> float:
    """eta = 2 (1 - 1/p) sqrt(p - c0^2) + 2 sqrt(1 - c0^2) (Proposition 2).

    Its half is printed as the gain of a step in ||V||_2^2. What can be gained is the gap, at most c0^2 < 1,
    and eta/2 exceeds that for every p >= 4: use `next_gap_bound`.
    """
    return 2 * (1 - 1 / p) * sqrt(p - c0**2) + 2 * sqrt(1 - c0**2)


def later_steps_threshold(compiled: Compiled, delta: Smoothing, L: float, c0: float, tol: float) -> float:
    """rho_hat = max(2 varpi_lin/eta, 2 varpi_lin/tol) (Proposition 2).

    For rho >= max(rho_hat, rho_bar) the gap is at most `tol` from the second step on: part (ii), which holds.
    """
    lin = varpi_lin(compiled, delta, L)
    return max(2 * lin / printed_gain(c0, compiled.n + 1), 2 * lin / tol)


def next_gap_bound(gap: Array, ratio: float) -> Array:
    """gap^2 + varpi_lin/rho >= the gap after one more step, for gap <= 1 (Proposition 2 (i), corrected).

    Parameters
    ----------
    gap : array of numbers in [0, 1]
        p - ||V||_2^2.
    ratio : float
        varpi_lin/rho.
    """
    return gap * gap + ratio


def step_gap_bound(compiled: Compiled, V: Array, rho: float, delta: Smoothing, L: float) -> Array:
    """sum_j (|B_j|/(2 rho t_j))^2 >= the gap after a step from V; B = L V - grad f~(V), t = ||V||_2 |P_1|.

    Not in the paper; asks nothing of rho, and t_j > 0 of V. It is what makes Proposition 2 (ii) true, for
    t_j^2 >= 1 - gap and |B|_F <= varpi turn it into (varpi/(2 rho))^2/(1 - gap).
    """
    xp = namespace(V)
    B = L * V - smoothed_gradient(compiled, V, delta)
    return xp.sum(xp.sum(B * B, axis=-2) / (2 * rho * projection(V)) ** 2, axis=-1)


def outer_rounds(rho_init: float, growth: float, rho_star: float) -> int:
    """Rounds of Algorithm 1 until it stops: ceil(log_growth(rho_star/rho_init)) + 2 (Corollary 1).

    `rho_star` is max(rho_hat, rho_bar), and must not exceed the largest rho allowed. One round more than
    the thresholds need: Algorithm 2 may stop after its first step, Proposition 2 (ii) speaks of the second.
    """
    return max(0, ceil(log(rho_star / rho_init) / log(growth))) + 2


def total_steps(rounds: int, drop: float, change_tol: float, L: float, Lf: float) -> int:
    """Steps of all rounds together (Corollary 1).

    `drop` must bound Phi(V) - Phi* in each of them, so it grows with the last rho (`largest_drop`): the
    O(log(rho_star/rho_init)/change_tol^2) of the paper hides that factor.
    """
    return rounds * steps_to_change(drop, change_tol, L, Lf)


def exact_penalty(compiled: Compiled) -> float:
    """rho* = (1 + 2 p) L_f: from there on no V is better than the best binary point (Section III).

    L_f has to be the constant of X -> f(calA(X) - b), that is `lifted_modulus`; not that of f alone.
    """
    return (1 + 2 * (compiled.n + 1)) * lifted_modulus(compiled, 0.0)


def binary_growth(compiled: Compiled, rho: float) -> float:
    """c = rho/(1 + 2 sqrt p) - L_f: Phi(V) >= F(x) + c |V'V - x x'|_F near every binary x (Section III).

    Positive for rho > rho*, and then every binary point is a strict local minimiser of the penalised
    problem: near is `binary_radius`. L_f is `lifted_modulus`, as in `exact_penalty`.
    """
    return rho / (1 + 2 * sqrt(compiled.n + 1)) - lifted_modulus(compiled, 0.0)


def binary_radius(n: int) -> float:
    """p/(1 + sqrt(2p)): an X of the lifted set closer than this to x x' is rounded to the binary x."""
    p = n + 1
    return p / (1 + sqrt(2 * p))


def projection(V: Array) -> Array:
    """x = ||V||_2 P_1, (..., p): |x o x - e| <= p - ||V||_2^2 (Theorem 2). Its sign is free."""
    xp = namespace(V)
    return xp.matmul(lift.leading_direction(V)[1][..., None, :], V)[..., 0, :]


def projected_value(compiled: Compiled, V: Array, delta: Smoothing) -> Array:
    """f^(x x') at the projection x of V: the smoothed objective at x_0 x_j (Theorem 2)."""
    x = projection(V)
    s = x[..., :1] * x[..., 1:]
    return compiled.smoothed(compiled.residual(s), delta) + compiled.linear(s)


def objective_gap_bound(rhos: Sequence[float], norms: Sequence[float], modulus: float, tol: float) -> float:
    """A bound of f^(x x') - f~(V^{k*}) after rounds k*, ..., k-1 (Theorem 2, eq. 18).

    rho_k ||V^k||^2 - rho_{k*} ||V^{k*}||^2 + sum_j (rho_j - rho_{j+1}) ||V^{j+1}||^2 + L_f^ tol, which is
    sum_j rho_j (||V^{j+1}||^2 - ||V^j||^2) + L_f^ tol. The paper has p/rank(V^{k*}), a lower bound, for
    ||V^{k*}||^2.

    Parameters
    ----------
    rhos : (k - k*,) numbers
        rho_j of the rounds.
    norms : (k - k* + 1,) numbers
        ||V^j||_2^2 before the first of them and after each.
    modulus : float
        L_f^, see `lifted_modulus`.
    tol : float
        A bound of the last gap p - ||V^k||_2^2.
    """
    return float(np.dot(rhos, np.diff(norms))) + modulus * tol


def final_gap_bound(
    rho: float, rho_start: float, norm_start: float, p: int, modulus: float, tol: float
) -> float:
    """A bound of f^(x x') - v* where f~(V^{k*}) <= v*, the least binary value (Theorem 2, end, corrected).

    rho_k (p - 1) + rho_{k*} (1 - ||V^{k*}||^2) + max(0, L_f^ - rho_k) tol, where the paper prints
    (L_f^ - rho_k) tol: false for rho_k > L_f^.
    """
    return rho * (p - 1) + rho_start * (1 - norm_start) + max(0.0, modulus - rho) * tol


def _pairs(compiled: Compiled, delta: Smoothing) -> list[tuple[Piece, float]]:
    deltas = delta if isinstance(delta, tuple) else (delta,) * len(compiled.pieces)
    return list(zip(compiled.pieces, deltas, strict=True))


def _matrix(compiled: Compiled, piece: Piece) -> Host:
    unit = from_numpy(np.eye(piece.operator.shape[0]), compiled.like)
    return to_numpy(piece.operator.adjoint(unit)).astype(np.float64)


def _slope_bound(compiled: Compiled, piece: Piece, delta: float) -> float:
    """For a convex separable loss, slopes are monotone in each row: the ends of its range decide."""
    if not (piece.loss.convex and piece.loss.separable):
        rows = piece.operator.shape[0] if piece.loss.separable else 1
        return piece.heaviest * abs(piece.argument) * piece.loss.lipschitz * sqrt(rows)
    reach = from_numpy(np.sum(np.abs(_matrix(compiled, piece)), axis=1), compiled.like)
    ends = [np.abs(to_numpy(piece.slopes(z, delta))) for z in (-reach - piece.b, reach - piece.b)]
    return float(np.linalg.norm(np.maximum(*ends)))


def _reference_slope(compiled: Compiled, delta: Smoothing) -> float:
    """|grad f~(E/sqrt m)|_F, which is the same for every m."""
    E = from_numpy(np.ones((1, compiled.n + 1)), compiled.like)
    return float(np.linalg.norm(to_numpy(smoothed_gradient(compiled, E, delta))))


def _surplus(L: float, Lf: float) -> float:
    if Lf >= L:
        raise ValueError(f"`L` must exceed `Lf` = {Lf:g} for a bound to exist; got {L:g}")
    return L - Lf


def _norm(A: Host) -> float:
    return float(np.linalg.norm(A, 2)) if A.size else 0.0


def _inner(U: Array, V: Array) -> Array:
    return namespace(U).sum(U * V, axis=(-2, -1))
