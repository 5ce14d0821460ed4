"""Binary compressed sensing: the paper's Table 2 and phase diagrams, with rivals that are really solved."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

import dcra
from dcra.apps.compressed_sensing import amp, binary_problem, instance, lp, lp_threshold, recover
from dcra.apps.compressed_sensing.errors import choose_lam
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.bcs_report import sections
from dcra.bench.sections import Section
from dcra.losses import L1
from dcra.methods import METHODS

N = 500
LAM = 0.05
SECONDS = 0.5
"""About what the paper's DCRA took; for every method that has no rule of its own to stop."""

OWN_RULE = ("recover", "amp", "lp")
FOREVER = ("anneal", "milp", "gurobi")
"""Methods that end by the clock alone, or by a proof: they have no end of one start."""

RHO = tuple(round(0.01 + 0.1 * i, 2) for i in range(10))
ALPHA = tuple(round(0.05 * i, 2) for i in range(1, 21))
NOISE = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
FEW_RHO, FEW_ALPHA = (0.11, 0.31, 0.51, 0.91), (0.2, 0.4, 0.6)

EDGE_RHO, EDGE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9), (-0.04, -0.02, 0.0, 0.02, 0.04)
"""Densities at which, and distances from the threshold of the linear program at which alpha, is looked at."""


class Setting(NamedTuple):
    """What an instance is drawn from; its name says all of it."""

    mu: int
    rho: float
    alpha: float
    noise: float
    number: int
    edge: bool = False
    """Whether it is one of those at the threshold of the linear program."""

    @property
    def name(self) -> str:
        kind = "edge" if self.edge else "bcs"
        return f"{kind}-mu{self.mu}-rho{self.rho:g}-alpha{self.alpha:g}-noise{self.noise:g}-{self.number}"

    @classmethod
    def parse(cls, name: str) -> Setting:
        kind, mu, rho, alpha, noise, number = name.split("-")
        if kind not in ("bcs", "edge"):
            raise ValueError(f"`instance` must be a name of this benchmark; got {name!r}")
        numbers = float(rho[3:]), float(alpha[5:]), float(noise[5:])
        return cls(int(mu[2:]), *numbers, int(number), kind == "edge")


class BinaryCompressedSensing(Benchmark):
    """N = 500, M = round(alpha N), lambda = .05; the objective is |Ax - y|_1 + lambda |x|_1."""

    name = "bcs"
    summary = "binary compressed sensing: Table 2, phase diagrams, noise"
    sizes = ("mu0", "mu2", "mu10", "noisy", "edge")
    methods = (
        "recover",
        "amp",
        "lp",
        "random",
        "flip",
        "anneal",
        "dcra",
        "dcra-paper",
        "mpec-epm",
        "mpec-epm-table",
        "mpec-adm",
        "milp",
        "gurobi",
    )

    def cases(self, choice: Choice) -> Iterable[Case]:
        small = choice.preset == "small"
        methods = [m for m in choice.methods or self.methods if not (choice.own and m in FOREVER)]
        count = choice.instances or (1 if small else 20)
        seconds = SECONDS * (choice.budget or (0.2 if small else 1.0))
        for method in methods:
            for size in choice.sizes or self.sizes:
                if size in ("noisy", "edge") and method not in OWN_RULE:
                    continue
                for setting in _settings(size, small, count):
                    ends = choice.own or method in OWN_RULE
                    yield Case(setting.name, method, budget=None if ends else seconds)

    def run(self, case: Case) -> Row:
        setting = Setting.parse(case.instance)
        A, y, x0 = instance(
            N, setting.alpha, setting.rho, setting.mu, setting.noise, crc32(case.instance.encode())
        )
        problem = binary_problem(A, y, LAM)
        _warm(case.method)
        begun, begun_cpu = time.perf_counter(), time.process_time()
        x = _solve(case, setting, A, y, starts=1 if case.budget is None else None)
        wall, cpu = time.perf_counter() - begun, time.process_time() - begun_cpu
        coin = np.random.default_rng(case.seed).integers(0, 2, N).astype(np.float64)
        wrong = int(np.count_nonzero(x != x0))
        return {
            **setting._asdict(),
            "fun": problem.objective(x),
            "truth": problem.objective(x0),
            "coin": problem.objective(coin),
            "squared": float(np.sum((A @ x - y) ** 2)),
            "squared_truth": float(np.sum((A @ x0 - y) ** 2)),
            "hamming": wrong,
            "mse": wrong / N,
            "exact": wrong == 0,
            "wall": wall,
            "cpu": cpu,
        }

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return sections(rows, self.methods)


def _settings(size: str, small: bool, count: int) -> Iterable[Setting]:
    if size == "noisy":
        for noise in NOISE:
            yield from (Setting(0, 0.2, 0.6, noise, i) for i in range(2 * count if small else count))
        return
    if size == "edge":
        for mu, rho, off in product((0, 2, 10), FEW_RHO if small else EDGE_RHO, EDGE):
            alpha = round(lp_threshold(rho, biased=mu > 0) + off, 3)
            yield from (Setting(mu, rho, alpha, 0.0, i, edge=True) for i in range(count))
        return
    for rho in FEW_RHO if small else RHO:
        for alpha in FEW_ALPHA if small else ALPHA:
            yield from (Setting(int(size[2:]), rho, alpha, 0.0, i) for i in range(count))


@cache
def _warm(method: str) -> None:
    """Import whatever a method needs, before it is timed."""
    setting = Setting(0, 0.3, 0.5, 0.1, 0)
    A, y, _ = instance(24, setting.alpha, setting.rho, noise=setting.noise)
    _solve(Case(setting.name, method, budget=30.0), setting, A, y, starts=1)


def _solve(case: Case, setting: Setting, A: Any, y: Any, starts: int | None = None) -> Any:
    """The point of {0,1}^N that a method answers with."""
    if case.method == "recover":
        return recover(A, y, seed=case.seed).x
    if case.method == "amp":
        return amp(A, y, setting.rho, setting.noise)
    if case.method == "lp":
        return lp(A, y, choose_lam(L1(), setting.noise, setting.rho) if setting.noise else None)
    if case.method not in METHODS:
        raise Skip(f"method {case.method!r} is not part of this installation")
    try:
        problem = binary_problem(A, y, LAM)
        limits: dict[str, Any] = {"time_limit": case.budget, "starts": starts, "seed": case.seed}
        return dcra.solve(problem, method=case.method, **limits).x
    except (ImportError, ValueError) as error:
        raise Skip(str(error)) from error
