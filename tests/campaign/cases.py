"""Random problems of all kinds: how numbers are drawn, what a problem is made of, how one is made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint

import dcra
from dcra.losses import NAMES

MOST_VARIABLES = 12
METHODS = {
    "auto": 8.0,
    "enumerate": 4.0,
    "exact": 8.0,
    "milp": 4.0,
    "flip": 3.0,
    "anneal": 1.0,
    "pair-flip": 1.0,
    "tabu": 1.0,
    "sweep": 0.2,
    "dcra": 0.1,
    "meet": 2.0,
    "lattice": 1.0,
    "lp-rounding": 1.0,
    "sdp-rounding": 1.0,
    "dcra-paper": 0.01,
    "subgradient": 0.02,
    "random": 1.0,
    "mpec-epm": 0.05,
    "mpec-adm": 0.02,
    "l2box-admm": 0.05,
    "shapeak": 0.05,
    "mpec-epm-table": 0.5,
    "gurobi": 0.3,
    "cpsat": 0.1,
    "scip": 0.3,
}
"""How often each method is tried: those that take their time, seldom. Missing solvers refuse in words."""

TORCH = find_spec("torch") is not None

Rng = np.random.Generator
Draw = Callable[[Rng, tuple[int, ...]], np.ndarray]


def _one_big(rng: Rng, shape: tuple[int, ...], size: float | None = None) -> np.ndarray:
    numbers = rng.integers(-3, 4, shape).astype(float)
    numbers.flat[rng.integers(numbers.size)] = 10.0 ** rng.integers(4, 17) if size is None else size
    return numbers


PROFILES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "small integers": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "big integers": lambda rng, shape: rng.integers(-(10**9), 10**9, shape).astype(float),
    "huge integers": lambda rng, shape: rng.integers(-(2**52), 2**52, shape).astype(float),
    "ties": lambda rng, shape: 0.1 * rng.integers(-2, 3, shape),
    "zeros": lambda rng, shape: rng.integers(-1, 2, shape) * (rng.random(shape) < 0.2) * 1.0,
    "tiny": lambda rng, shape: 1e-30 * rng.standard_normal(shape),
    "huge": lambda rng, shape: 1e30 * rng.standard_normal(shape),
    "one big entry": _one_big,
    "offset": lambda rng, shape: 1e8 + 1e-3 * rng.integers(-2, 3, shape),
    "mixed scales": lambda rng, shape: 10.0 ** rng.integers(-9, 10, shape) * rng.standard_normal(shape),
}


@dataclass(frozen=True)
class Part:
    """A term; a weight of shape () is one number."""

    loss: str
    A: np.ndarray
    b: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Rows:
    G: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Case:
    """A problem, and how it is to be solved; all numbers in float64, in the float type `dtype` if solved."""

    n: int
    domain: str
    method: str
    parts: tuple[Part, ...] = ()
    linear: np.ndarray | None = None
    quadratic: np.ndarray | None = None
    constant: float = 0.0
    rows: tuple[Rows, ...] = ()
    dtype: str = "float64"
    sparse: bool = False
    torch: bool = False
    seed: int = 0
    device: str | None = None
    starts: int = 2
    time_limit: float | None = None
    fixed: tuple[tuple[int, float], ...] = ()
    pool: int = 0
    profiles: tuple[str, ...] = field(default=(), compare=False)

    def problem(self) -> dcra.Problem:
        store = self._store()
        terms = [dcra.Term(p.loss, store(p.A.astype(self.dtype)), p.b, p.weight) for p in self.parts]
        return dcra.Problem(
            terms,
            linear=self.linear,
            quadratic=None if self.quadratic is None else store(self.quadratic.astype(self.dtype)),
            constant=self.constant,
            domain=self.domain,
            constraints=[LinearConstraint(r.G, r.low, r.high) for r in self.rows],
        )

    def _store(self) -> Callable[[np.ndarray], Any]:
        if self.torch and TORCH:
            from torch import from_numpy

            return lambda A: from_numpy(A).to(self.device or "cpu")
        return sparse.csr_array if self.sparse else np.asarray

    def solve(self) -> dcra.Result:
        how = {"method": self.method, "starts": self.starts, "seed": self.seed, "device": self.device}
        how |= {"fixed": dict(self.fixed) or None, "pool": self.pool or None}
        return dcra.solve(self.problem(), n_jobs=1, time_limit=self.time_limit, **how)

    @property
    def values(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.domain == "spin" else (0.0, 1.0)

    def stored(self, A: np.ndarray) -> np.ndarray:
        """The numbers as they are kept in the float type of the case."""
        return A.astype(self.dtype).astype(np.float64)


def draw_case(rng: Rng, most: int = MOST_VARIABLES) -> Case:
    """A random case of at most so many variables."""
    profiles: list[str] = []

    def draw(*shape: int) -> np.ndarray:
        name = str(rng.choice(list(PROFILES)))
        profiles.append(name)
        return PROFILES[name](rng, shape)

    n = int(rng.integers(1, most + 1))
    domain = str(rng.choice(["spin", "binary"]))
    method = draw_methods(rng, 1)[0]
    parts = tuple(_draw_part(rng, draw, n, domain) for _ in range(rng.choice(3, p=[0.25, 0.55, 0.2])))
    linear = draw(n) if rng.random() < 0.4 or not parts else None
    coupled = rng.random() < (0.35 if parts else 0.6)
    return Case(
        n=n,
        domain=domain,
        method=method,
        parts=parts,
        linear=linear,
        quadratic=draw(n, n) if coupled else None,
        constant=float(rng.choice([0.0, 3.0, -0.1, 1e9, 1e15], p=[0.7, 0.1, 0.1, 0.05, 0.05])),
        rows=tuple(_draw_rows(rng, draw, n, domain) for _ in range(rng.choice(3, p=[0.6, 0.3, 0.1]))),
        dtype=str(rng.choice(["float64", "float32"], p=[0.8, 0.2])),
        sparse=bool(rng.random() < 0.2),
        torch=bool(rng.random() < 0.05),
        seed=int(rng.integers(100)),
        profiles=tuple(profiles),
    )


def draw_methods(rng: Rng, count: int) -> list[str]:
    chance = np.array(list(METHODS.values()))
    return [str(m) for m in rng.choice(list(METHODS), count, replace=False, p=chance / chance.sum())]


def _draw_part(rng: Rng, draw: Any, n: int, domain: str) -> Part:
    loss, r = str(rng.choice(list(NAMES))), int(rng.integers(1, 9))
    A = draw(r, n)
    x = rng.choice((-1.0, 1.0) if domain == "spin" else (0.0, 1.0), n)
    b = A @ x if rng.random() < 0.5 else draw(r)
    if rng.random() < 0.3:
        b = b + rng.integers(-2, 3, r)
    weights, chances = [1.0, 0.5, 3.0, 1e6, 1e13, 0.0], [0.6, 0.1, 0.1, 0.1, 0.05, 0.05]
    weight = np.asarray(rng.choice(weights, p=chances))
    if NAMES[loss].separable and rng.random() < 0.3:
        weight = np.abs(draw(r))
    if loss == "linear" and rng.random() < 0.5:  # the one loss that may be wished for
        weight = -weight
    return Part(loss, A, b, weight)


def _draw_rows(rng: Rng, draw: Any, n: int, domain: str) -> Rows:
    """Rows that a random point satisfies, mostly."""
    q = int(rng.integers(1, 3))
    G = draw(q, n)
    value = G @ rng.choice((-1.0, 1.0) if domain == "spin" else (0.0, 1.0), n)
    kind = rng.integers(4)
    width = np.abs(draw(q)) if kind == 1 else np.where(kind == 2, 2.0, 0.0) + np.zeros(q)
    low, high = (value - width, value + width) if kind else (np.full(q, -np.inf), value)
    if rng.random() < 0.1:
        low, high = low + 1.0, high + 1.0
    return Rows(G, low, high)


def smaller(case: Case) -> Iterator[Case]:
    """Cases with something left out, the largest things first."""
    for i in range(len(case.rows)):
        yield replace(case, rows=case.rows[:i] + case.rows[i + 1 :])
    for i in range(len(case.parts)):
        yield replace(case, parts=case.parts[:i] + case.parts[i + 1 :])
    for name in ("linear", "quadratic"):
        if getattr(case, name) is not None:
            yield replace(case, **{name: None})
    for i in range(len(case.fixed)):
        yield replace(case, fixed=case.fixed[:i] + case.fixed[i + 1 :])
    settings = {"pool": 0, "constant": 0.0, "sparse": False, "torch": False, "dtype": "float64", "seed": 0}
    for name, value in settings.items():
        if getattr(case, name) != value:
            yield replace(case, **{name: value})
    for j in range(case.n if case.n > 1 else 0):
        yield _without_variable(case, j)
    for i, part in enumerate(case.parts):
        for k in range(len(part.b) if len(part.b) > 1 else 0):
            weight = np.delete(part.weight, k) if part.weight.ndim else part.weight
            less = replace(part, A=np.delete(part.A, k, 0), b=np.delete(part.b, k), weight=weight)
            yield replace(case, parts=(*case.parts[:i], less, *case.parts[i + 1 :]))
        if part.weight.ndim or part.weight != 1:
            plain = replace(part, weight=np.asarray(1.0))
            yield replace(case, parts=(*case.parts[:i], plain, *case.parts[i + 1 :]))


def _without_variable(case: Case, j: int) -> Case:
    Q = case.quadratic
    return replace(
        case,
        n=case.n - 1,
        parts=tuple(replace(p, A=np.delete(p.A, j, 1)) for p in case.parts),
        rows=tuple(replace(r, G=np.delete(r.G, j, 1)) for r in case.rows),
        linear=None if case.linear is None else np.delete(case.linear, j),
        fixed=tuple((i - (i > j), value) for i, value in case.fixed if i != j),
        quadratic=None if Q is None else np.delete(np.delete(Q, j, 0), j, 1),
    )
