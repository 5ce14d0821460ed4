"""Seeded problems of all kinds, small, with how they are to be solved."""

from __future__ import annotations

import threading

import numpy as np
from scipy import sparse

import dcra
from dcra.apps.maxsat import ClauseProblem, random_clauses
from dcra.engines import Sweep


class Shifted:
    """A loss of a user's, which counts how often it was unpacked in this process."""

    unpacked = 0
    convex = True

    def value(self, z):
        return np.sum(np.abs(z), axis=-1)

    def prox(self, z, step):
        return np.sign(z) * np.maximum(np.abs(z) - step, 0.0)

    def __reduce__(self):
        return unpack, ()


def unpack():
    Shifted.unpacked += 1
    return Shifted()


def unpacked() -> int:
    return Shifted.unpacked


class Locked(Shifted):
    """A loss that cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __reduce__(self):
        return Locked, (self.lock,)


def dense(seed, r=25, n=40, loss="l1", **options):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, n))
    return dcra.Problem(
        [dcra.Term(loss, A, A @ rng.choice([-1.0, 1.0], n) + rng.standard_normal(r))], **options
    )


def thin(seed, loss="l1"):
    rng = np.random.default_rng(seed)
    A = sparse.random(60, 80, 0.1, random_state=rng, format="csc")
    return dcra.Problem([dcra.Term(loss, A, rng.standard_normal(60))], domain="binary")


def coupled(seed, n=60, **options):
    rng = np.random.default_rng(seed)
    Q = sparse.random(n, n, 0.1, random_state=rng)
    return dcra.Problem(quadratic=Q, linear=rng.standard_normal(n), **options)


def constrained(seed):
    rng = np.random.default_rng(seed)
    problem = dense(seed, domain="binary")
    return problem.replace(constraints=[dcra.exactly(12), dcra.at_most(3, rng.choice(40, 10, replace=False))])


def mixed(seed):
    rng = np.random.default_rng(seed)
    one = dense(seed)
    return one.replace(terms=[*one.terms, dcra.Term("huber", rng.standard_normal((10, 40)), np.ones(10))])


def equations(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 60, (2, 32)).astype(float)
    return dcra.Problem([dcra.Term("l1", A, A @ rng.integers(0, 2, 32))], domain="binary")


PROBLEMS = {
    "l1": (lambda: dense(0), {}),
    "float32": (lambda: dense(1).replace(terms=[_short(dense(1).terms[0])]), {}),
    "huber": (lambda: dense(2, loss="huber"), {}),
    "logistic": (lambda: dense(3, loss="logistic"), {}),
    "least squares": (lambda: dense(4, r=50, loss="squared"), {}),
    "linf": (lambda: dense(5, loss="linf"), {}),
    "own loss": (lambda: dense(6, loss=Shifted()), {}),
    "two terms": (lambda: mixed(7), {}),
    "points": (lambda: dense(8), {"x0": np.ones((2, 40))}),
    "few points": (lambda: dense(9, n=12), {}),
    "sparse": (lambda: thin(10), {}),
    "sparse hinge": (lambda: thin(11, "hinge"), {}),
    "quadratic": (lambda: coupled(12), {}),
    "counted quadratic": (lambda: coupled(13, domain="binary", constraints=dcra.exactly(20)), {}),
    "clauses": (lambda: ClauseProblem(random_clauses(60, 300, 3, seed=14)), {}),
    "constrained": (lambda: constrained(15), {}),
    "equations": (lambda: equations(16), {}),
    "dcra": (lambda: dense(17), {"method": "dcra"}),
    "array sweeps": (lambda: dense(18), {"method": Sweep(30, block=8)}),
    "tabu": (lambda: dense(19), {"method": "tabu"}),
}


def _short(term):
    return dcra.Term(term.loss, term.operator.A.astype(np.float32), term.b.astype(np.float32))
