"""Problems to be proved: families that are drawn from names, and series of files of Biq Mac."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.apps import mimo
from dcra.bench.base import Row, Skip
from dcra.bench.quadratic import data_file, data_names, listed_energies
from dcra.losses import Quantile
from dcra.model.constraints import exactly
from dcra.model.problem import Problem
from dcra.model.term import Term

Rng = np.random.Generator


class Family(NamedTuple):
    """How problems of one kind are drawn, rows for each variable, and the sizes that are tried."""

    draw: Callable[[Rng, int, int], Problem]
    ratio: float
    sizes: tuple[int, ...]
    alone: bool = False
    """Whether methods of others are left out."""


def _planted(rng: Rng, n: int, r: int, noise: float) -> tuple[Host, Host]:
    A = rng.standard_normal((r, n))
    return A, A @ rng.choice([-1.0, 1.0], n) + noise * rng.standard_normal(r)


def gross(rng: Rng, n: int, r: int) -> Problem:
    """l1, a fifth of b replaced by numbers that have nothing to do with A."""
    A, b = _planted(rng, n, r, 0.1)
    b[: r // 5] = 50.0 * rng.standard_normal(r // 5)
    return Problem([Term("l1", A, b)])


def likely(rng: Rng, n: int, r: int) -> Problem:
    """l1, three tenths of b replaced by numbers of the same size, and noise."""
    A, b = _planted(rng, n, r, 0.5)
    wrong = 3 * r // 10
    b[:wrong] = np.sqrt(n) * rng.standard_normal(wrong)
    return Problem([Term("l1", A, b)])


def quantile(rng: Rng, n: int, r: int) -> Problem:
    """The quantile .8, a fifth of b wrong, and noise."""
    A, b = _planted(rng, n, r, 1.0)
    b[: r // 5] = np.sqrt(n) * rng.standard_normal(r // 5)
    return Problem([Term(Quantile(0.8), A, b)])


def hinge(rng: Rng, n: int, r: int) -> Problem:
    """A classifier with weights +-1; a tenth of the labels is wrong."""
    G, h = rng.standard_normal((r, n)), rng.choice([-1.0, 1.0], n)
    labels = np.sign(G @ h) * np.where(rng.random(r) < 0.1, -1.0, 1.0)
    return Problem([Term("hinge", -labels[:, None] * G / np.sqrt(n), -1.0)])


def sensing(rng: Rng, n: int, r: int) -> Problem:
    """Compressed sensing: a tenth of the variables is 1, few rows, noise, and a price on ones."""
    A, x = rng.standard_normal((r, n)) / np.sqrt(r), np.zeros(n)
    x[rng.choice(n, n // 10, replace=False)] = 1.0
    b = A @ x + 0.05 * rng.standard_normal(r)
    return Problem([Term("l1", A, b)], linear=np.full(n, 0.1), domain="binary")


def nothing(rng: Rng, n: int, r: int) -> Problem:
    """l1, and nothing to be found."""
    return Problem([Term("l1", rng.standard_normal((r, n)), rng.standard_normal(r))])


def coupled(rng: Rng, n: int, r: int, loss: str) -> Problem:
    """Normal couplings, and a loss of the residuals of a planted point."""
    A, b = _planted(rng, n, r, 0.1)
    return Problem([Term(loss, A, b)], quadratic=_couplings(rng, n))


def third(rng: Rng, n: int, r: int) -> Problem:
    """Normal couplings, and a third of the spins up."""
    return Problem(quadratic=_couplings(rng, n), constraints=exactly(n // 3))


def planted(rng: Rng, n: int, r: int, loss: str) -> Problem:
    """One norm of the residuals of a planted point with a tenth of noise, and a small linear part."""
    A, b = _planted(rng, n, r, 0.1)
    return Problem([Term(loss, A, b)], linear=0.01 * rng.standard_normal(n))


def noise(rng: Rng, n: int, r: int, loss: str) -> Problem:
    """One norm, nothing to be found, and a small linear part."""
    A, b = rng.standard_normal((r, n)), rng.standard_normal(r)
    return Problem([Term(loss, A, b)], linear=0.01 * rng.standard_normal(n))


def detection(rng: Rng, n: int, r: int) -> Problem:
    """Squares: a frame of QPSK symbols at 10 dB, as many antennas as symbols, two spins for each."""
    sent = mimo.transmit(mimo.iid_channel(n // 2, n // 2, rng), 10.0, "qpsk", frames=1, rng=rng)
    return mimo.as_problem(mimo.received(sent.H, sent.y, "qpsk", sent.noise)[0])


def logistic(rng: Rng, n: int, r: int) -> Problem:
    """A classifier with weights +-1; labels are the signs of its sums with half as much noise."""
    G, h = rng.standard_normal((r, n)) / np.sqrt(n), rng.choice([-1.0, 1.0], n)
    labels = np.sign(G @ h + 0.5 * rng.standard_normal(r))
    return Problem([Term("logistic", -labels[:, None] * G, 0.0)])


def _couplings(rng: Rng, n: int) -> Host:
    Q = np.triu(rng.standard_normal((n, n)), 1)
    return np.asarray(Q + Q.T)


FAMILIES = {
    "gross": Family(gross, 2.0, (100, 200, 500, 1000)),
    "likely": Family(likely, 2.0, (100, 200, 300, 500)),
    "quantile": Family(quantile, 2.0, (100, 200, 300)),
    "hinge": Family(hinge, 5.0, (50, 100, 150)),
    "sensing": Family(sensing, 0.4, (100, 150, 200)),
    "nothing": Family(nothing, 1.0, (30, 40, 50)),
    "coupled_l1": Family(partial(coupled, loss="l1"), 1.0, (30, 40), alone=True),
    "coupled_huber": Family(partial(coupled, loss="huber"), 2.0, (30,), alone=True),
    "coupled_third": Family(third, 0.0, (30, 40, 60), alone=True),
    "l2": Family(partial(planted, loss="l2"), 2.0, (60, 200), alone=True),
    "linf": Family(partial(planted, loss="linf"), 2.0, (60, 200), alone=True),
    "l2_nothing": Family(partial(noise, loss="l2"), 2.0, (20, 30), alone=True),
    "linf_nothing": Family(partial(noise, loss="linf"), 2.0, (20, 30), alone=True),
    "detection": Family(detection, 1.0, (32, 48, 64), alone=True),
    "logistic": Family(logistic, 5.0, (40, 80, 120), alone=True),
}
"""The place of a family is a part of what its problems are drawn from: further ones come last."""

SERIES = {
    **{f"g05_{n}": f"rudy/g05_{n}.*" for n in (60, 80, 100)},
    **{f"{kind}_{n}": f"rudy/{kind}_{n}.*" for kind in ("pm1s", "pm1d") for n in (80, 100)},
    **{f"{kind}_100": f"rudy/{kind}_100.*" for kind in ("w01", "pw01", "w05", "pw05", "w09", "pw09")},
    **{f"bqp{n}": f"beasley/bqp{n}-*.sparse" for n in (50, 100)},
    **{f"be{n}": f"be/be{n}.*.sparse" for n in ("100", "120.3")},
    **{f"gka_{letter}": f"gka/gka*{letter}.sparse" for letter in "abcd"},
    **{name: f"ising/{name}*" for name in ("ising2.5", "t2g10", "t3g5")},
}
"""Files of Biq Mac below DCRA_DATA/biqmac, up to 125 variables."""

SIZES = (
    *(f"{name}-{n}" for name, family in FAMILIES.items() for n in family.sizes),
    *(f"biqmac-{name}" for name in SERIES),
)
ORDER = (*FAMILIES, *SERIES)
"""Families of rows, as pages have them."""


def instances_of(size: str, count: int | None, small: bool) -> list[str]:
    """Names of so many problems of a size; where it is not said, of one, of five, or of a series of files."""
    kind, _, name = size.partition("-")
    if kind == "biqmac":
        return data_names("biqmac", SERIES[name])[: count or (1 if small else None)]
    return [f"{size}-{seed}" for seed in range(count or (1 if small else 5))]


def methods_of(size: str, everybody: Sequence[str]) -> Sequence[str]:
    """Those that a size is run by: files by the first, families without rivals by the first two."""
    kind = size.partition("-")[0]
    if kind not in FAMILIES:
        return everybody[:1]
    return everybody[:2] if FAMILIES[kind].alone else everybody


def problem_of(instance: str) -> Problem:
    """The problem behind a name such as hinge-100-3 or biqmac/rudy/g05_60.0."""
    if "/" in instance:
        from dcra.io import read

        return read(data_file(*instance.split("/")), "sparse" if instance.endswith(".sparse") else "rudy")
    family, n, seed = instance.split("-")
    if family not in FAMILIES:
        raise Skip(f"there is no family {family!r}; there are {', '.join(FAMILIES)}")
    draw, ratio, *_ = FAMILIES[family]
    rng = np.random.default_rng((list(FAMILIES).index(family), int(n), int(seed)))
    return draw(rng, int(n), round(ratio * int(n)))


def small_problems() -> list[Problem]:
    """One for each kind of tree beyond those of sums."""
    drawn = [problem_of(f"{family}-16-0") for family in ("coupled_third", "linf", "detection")]
    return [*drawn, Problem(quadratic=_couplings(np.random.default_rng(0), 20))]


def described(instance: str, problem: Problem) -> Row:
    """The family of an instance and its size; of a file, what lists of others say of it, too."""
    size: Row = {"n": problem.n, "rows": problem.n_rows}
    if "/" not in instance:
        return {"family": instance.partition("-")[0]} | size
    return {"family": _series(instance)} | size | {"listed": _listed(instance)}


def _series(instance: str) -> str:
    """The series that a file is of."""
    path = PurePosixPath(instance.removeprefix("biqmac/"))
    return next(name for name, pattern in SERIES.items() if path.match(pattern))


def _listed(instance: str) -> list[float]:
    """The best known objective of a file: a cut of a graph counts less than nothing."""
    folder, _, name = instance.rpartition("/")
    sign = 1.0 if name.endswith(".sparse") else -1.0
    return [sign * value for value in listed_energies(folder, name.removesuffix(".sparse"))]
