"""Problems, factors, and recorded runs of Algorithms 1 and 2."""

from __future__ import annotations

from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dcra import lift, theory
from dcra.compiled.form import compile_problem
from dcra.losses import Huber, L2Norm, LInf, Quantile
from dcra.model.problem import Problem
from dcra.model.term import Term

ROUNDING = 1e-9


def one_term(loss, n=4, r=5, *, seed=0, linear=False, domain="spin", weight=1.0):
    rng = np.random.default_rng(seed)
    A, b, c = rng.standard_normal((r, n)), rng.standard_normal(r), rng.standard_normal(n)
    return compile_problem(Problem([Term(loss, A, b, weight)], linear=c if linear else None, domain=domain))


def two_terms():
    rng = np.random.default_rng(5)
    rows = sparse.csc_array(rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.7))
    terms = [
        Term("l1", rng.standard_normal((4, 4)), rng.standard_normal(4), rng.uniform(0.5, 2.0, 4)),
        Term(Huber(0.7), rows, rng.standard_normal(3), 1.5),
    ]
    return compile_problem(Problem(terms, linear=rng.standard_normal(4), domain="binary"))


CASES = {
    "l1": lambda: one_term("l1"),
    "l1 with c, binary": lambda: one_term("l1", seed=1, linear=True, domain="binary"),
    "huber": lambda: one_term(Huber(0.7), seed=2),
    "hinge": lambda: one_term("hinge", n=5, r=3, seed=3, linear=True),
    "squared": lambda: one_term("squared", n=3, r=4, seed=4),
    "quantile, weights": lambda: one_term(Quantile(0.3), seed=6, weight=np.array([1.0, 0.2, 3.0, 0.7, 1.1])),
    "l2": lambda: one_term(L2Norm(), seed=7),
    "linf": lambda: one_term(LInf(), seed=8, weight=2.0),
    "logistic": lambda: one_term("logistic", n=3, seed=9),
    "two terms": two_terms,
}
LIPSCHITZ = [name for name in CASES if name != "squared"]
DELTA = 0.5


def factors(compiled, count, *, seed=0, rank=3):
    return np.stack([lift.random_factor(rank, compiled.n, seed, i) for i in range(count)])


def near(V, size, rng):
    """A point of the unit-column set close to V."""
    return lift.normalize_columns(V + size * rng.standard_normal(V.shape), V)


def almost_rank_one(compiled, count, size=0.1):
    """Factors whose columns all lie close to one line, on either side of the origin."""
    rng = np.random.default_rng(20)
    signs = np.where(rng.random((count, 1, compiled.n + 1)) < 0.5, -1.0, 1.0)
    return near(factors(compiled, count, seed=2)[:, :, :1] * signs, size, rng)


def binary_factors(n, rank):
    """The factors of all [1; s][1; s]'."""
    S = np.concatenate([np.ones((2**n, 1)), spins(n)], axis=1)
    return theory.factor(S[:, :, None] * S[:, None, :], rank)


def with_gap(p, gap):
    """A factor of rank 2 with rank gap `gap` <= 1: equal columns but for one, turned out of their line."""

    def columns(angle):
        V = np.zeros((2, p))
        V[0], V[:, -1] = 1.0, (np.cos(angle), np.sin(angle))
        return V

    low, high = 0.0, np.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lift.rank_gap(columns(middle)) < gap else (low, middle)
    return columns(low)


def spins(n):
    return np.array(list(product([-1.0, 1.0], repeat=n)))


def binary_values(compiled, delta=0.0):
    S = spins(compiled.n)
    return compiled.smoothed(compiled.residual(S), delta) + compiled.linear(S)


def mm_step(compiled, V, rho, delta, L):
    """Equation 12."""
    z = compiled.residual(lift.relaxed(V))
    g = lift.gradient(V, compiled.pull(compiled.slopes(z, delta)))
    _, u = lift.leading_direction(V)
    return lift.normalize_columns(L * V - g + 2 * rho * lift.spectral_part(V, u), V)


def mm_run(compiled, V, rho, delta, L, steps):
    """Algorithm 2: V^0, ..., V^steps."""
    iterates = [V]
    for _ in range(steps):
        iterates.append(mm_step(compiled, iterates[-1], rho, delta, L))
    return iterates


class Run(NamedTuple):
    """What Algorithm 1 went through: rho_0..rho_{k-1}, V^0..V^k, and the steps of every round."""

    rhos: list[float]
    factors: list[np.ndarray]
    steps: list[int]


def dcra_run(compiled, V, rho, delta, L, *, tol, growth, change_tol, max_steps=3000, rho_max=inf):
    """Algorithm 1 until the gap is at most `tol`."""
    run = Run([], [V], [])
    while True:
        steps, moved = 0, inf
        while moved > change_tol and steps < max_steps:
            old, V = V, mm_step(compiled, V, rho, delta, L)
            steps, moved = steps + 1, np.linalg.norm(V - old)
        run.rhos.append(rho)
        run.factors.append(V)
        run.steps.append(steps)
        if lift.rank_gap(V) <= tol:
            return run
        rho = min(growth * rho, rho_max)


def change(V, W):
    return np.linalg.norm(W - V)
