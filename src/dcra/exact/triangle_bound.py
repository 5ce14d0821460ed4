"""The semidefinite relaxation of z'Mz with triangle inequalities, and the lower bound that its dual gives.

    z'Mz >= -sum price - sum y - p shift

wherever M - sum price T + Diag(y) + shift I is positive semidefinite and no price is negative, because
<T, zz'> >= -1 for every triangle T. Factor and prices take turns; prices are raised by what triangles are
violated by, and pushed above that for as long as they are, which damps them. Nothing is believed but what a
Cholesky factor proves, with an allowance for rounding.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.triangles import mix, press, priced, separate
from dcra.model.definite import positive_definite

EPS = float(np.finfo(np.float64).eps)

PUSH, SHARE = 0.03, 0.02
"""How far prices are pushed by a violation of 1, in units of the geometric mean of y; how means follow."""

FIRST_RATE, LAST_RATE, FALL = 0.02, 0.003, 0.93
"""How far they are raised in a step, in these units: at first, at last, and how that falls with rounds."""

VIOLATED = 0.02
"""Triangles that are violated by less are left alone."""

MANY, FEW, MANY_ROUNDS = 5, 2, 8
"""Triangles for each spin that a round adds at most: in the first rounds, and later."""

STEPS = 40
"""Steps of a round."""

PAUSE = 1_000_000
"""Numbers touched between two pauses, about."""

SETTLING = 40
"""Passes of the factor at fixed prices before a proof."""

NEGLIGIBLE = 1e-6
"""A price below this, in these units, is none."""

TINY = 1e-300


class Warm(NamedTuple):
    """Where a relaxation may begin: the factor (p, k), triangles and their prices."""

    V: Host
    corners: Host
    prices: Host


class Proved(NamedTuple):
    """What z'Mz does not fall below, the positive definite matrix that says so, what rounding may cost."""

    bound: float
    S: Host
    allowance: float


@dataclass(eq=False)
class TriangleRelaxation:
    """Resumable: rounds of steps, each with new triangles."""

    M: Host
    warm: Warm | None = None
    rounds: int = 0

    def __post_init__(self) -> None:
        p = len(self.M)
        self.y, self.X, self.mean = np.zeros(p), np.empty((p, p)), np.empty((p, p))
        start = self.warm or cold(p)
        self.V, self.corners, self.base = start.V.copy(), start.corners, start.prices.copy()
        self.price, self.usual = self.base.copy(), self.base.copy()
        self.B = priced(self.M, self.corners, self.price)
        self.unit = 0.0

    def begin(self) -> Iterator[int]:
        """Let the factor settle, somewhat; yields its work, as all that follow do."""
        yield from self._settle(self.B, self.V, self.y, SETTLING if self.warm is None else 1)
        self.mean = self.V @ self.V.T
        self.unit = float(np.exp(np.mean(np.log(self.y + TINY))))

    def _settle(self, B: Host, V: Host, y: Host, passes: int) -> Iterator[int]:
        at_once = max(1, PAUSE // self.step_work)
        for done in range(0, passes, at_once):
            count = min(at_once, passes - done)
            mix(B, V, y, count)
            yield count * self.step_work

    @property
    def step_work(self) -> int:
        """About how many numbers a step touches."""
        p, k = self.V.shape
        return int(2 * p * p * k + 8 * len(self.corners))

    @property
    def value(self) -> float:
        """What the bound will be about, were it to settle here."""
        return -float(np.sum(self.y)) - float(np.sum(self.price))

    @property
    def resolution(self) -> float:
        """Less than this, rounding hides."""
        p = len(self.M)
        return 8 * p * (p + 2) * EPS * (float(np.sum(np.abs(self.y))) + float(np.abs(self.M).sum()) / p)

    def round(self) -> Iterator[int]:
        """Take in triangles that are violated, and take STEPS steps."""
        yield from self._separate()
        rate = max(LAST_RATE, FIRST_RATE * FALL**self.rounds) * self.unit
        prices, push = (self.base, self.price, self.usual), PUSH * self.unit
        at_once = max(1, PAUSE // self.step_work)
        for done in range(0, STEPS, at_once):
            count = min(at_once, STEPS - done)
            held = (self.M, self.V, self.y, self.X, self.B, self.mean, self.corners)
            press(*held, *prices, rate, push, SHARE, count)
            yield count * self.step_work

    def _separate(self) -> Iterator[int]:
        """Leave out triangles without a price, and take in those that are violated most."""
        p = len(self.M)
        room = p * (MANY if self.rounds < MANY_ROUNDS else FEW)
        rows, by, count = np.empty((room, 4), np.int32), np.empty(room), 0
        at_once = max(1, PAUSE // (p * p))
        for first in range(0, p, at_once):
            count = separate(self.mean, first, min(p, first + at_once), VIOLATED, rows, by, count)
            yield at_once * p * p
        least = NEGLIGIBLE * self.unit
        kept = (self.price > least) | (self.usual > least)
        new = rows[:count][~np.isin(_keys(rows[:count], p), _keys(self.corners[kept], p))]
        self.corners = np.ascontiguousarray(np.concatenate([self.corners[kept], new]))
        none = np.zeros(len(new))
        self.base, self.price, self.usual = (
            np.concatenate([part[kept], none]) for part in (self.base, self.price, self.usual)
        )
        self.rounds += 1

    def prove(self) -> Generator[int, None, Proved]:
        """The bound that the present prices give, after the factor has settled at them."""
        V, y = self.V.copy(), self.y.copy()
        B = priced(self.M, self.corners, self.usual)
        yield from self._settle(B, V, y, SETTLING)
        return certified(B, y, float(np.sum(self.usual)), float(np.abs(self.M).sum()))

    @property
    def ended(self) -> Warm:
        """Where others may begin."""
        kept = self.usual > NEGLIGIBLE * self.unit
        return Warm(self.V, np.ascontiguousarray(self.corners[kept]), self.usual[kept])


def certified(B: Host, y: Host, prices: float, size: float) -> Proved:
    """What z'Bz - prices does not fall below, by multipliers y; -inf where nothing is proved.

    B is a matrix of `size` less triangles that have these prices together.
    """
    p = len(B)
    S = B + np.diag(y)
    if not np.all(np.isfinite(S)):
        return Proved(-inf, S, inf)
    scale = float(np.mean(np.abs(y))) + EPS * size
    shift = -float(np.linalg.eigvalsh(S)[0])
    for share in SHIFTS:
        extra = shift + share * scale
        lifted = S + extra * np.eye(p)
        if positive_definite(lifted):
            trace = float(np.sum(np.abs(np.diag(lifted))))
            allowance = 4 * p * (p + 2) * EPS * trace + 16 * p * EPS * (size + 3 * prices)
            return Proved(-float(np.sum(y)) - p * extra - prices - allowance, lifted, allowance)
    return Proved(-inf, S, inf)


SHIFTS = (1e-12, 1e-10, 1e-8, 1e-5)
"""What is added to the least eigenvalue, in units of the mean y, until there is a Cholesky factor."""


def cold(p: int) -> Warm:
    """Where a relaxation begins that nothing is known of."""
    k = 8 * int(np.ceil(3 * np.sqrt(p) / 8))
    V = np.random.default_rng(0).standard_normal((p, k))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    return Warm(V, np.zeros((0, 4), np.int32), np.zeros(0))


def _keys(corners: Host, p: int) -> Host:
    """A number for each triangle."""
    i, j, k, kind = corners.astype(np.int64).T
    return np.asarray(((i * p + j) * p + k) * 4 + kind)
