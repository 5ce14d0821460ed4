"""Constellations that are no grid: 8-PSK, and points of the user's own. Each symbol is one of the points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.constellations import PHASES, Constellation, constellation_of, plain
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.robust import FIRST_SHARE, threshold_of
from dcra.losses import Huber, Loss, SquaredL2, as_loss
from dcra.messages import shown
from dcra.model.checks import refuse_masked
from dcra.model.logic import one_of
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Status

Host = NDArray[Any]

ALL = 1 << 16
"""Most frames that are tried one by one."""

STARTS = 8


@dataclass(frozen=True, eq=False)
class Alphabet:
    """Points (q,) of the complex plane, and the bits (q, digits) that each stands for."""

    name: str
    points: Host
    table: Host

    @property
    def q(self) -> int:
        """Number of points."""
        return int(self.points.size)

    @property
    def bits_per_symbol(self) -> int:
        """Bits that each point stands for."""
        return int(self.table.shape[1])

    @property
    def energy(self) -> float:
        """Mean energy of a point."""
        return float(np.mean(np.abs(self.points) ** 2))

    def from_bits(self, bits: Host) -> Host:
        """Which point (..., n) each group of bits (..., n, digits) stands for."""
        weights = 1 << np.arange(self.bits_per_symbol)[::-1]
        where = np.full(1 << self.bits_per_symbol, -1)
        where[self.table @ weights] = np.arange(self.q)
        index = np.asarray(where[np.asarray(bits) @ weights])
        if np.any(index < 0):
            odd = np.asarray(bits)[index < 0][0].tolist()
            raise ValueError(f"`bits` must be those of points of the constellation; none has {odd}")
        return index


def alphabet(points: Any, bits: Any = None, name: str = "own") -> Alphabet:
    """A constellation of your own.

    Parameters
    ----------
    points : (q,) complex array
        Its points, all different; their mean energy is yours to choose.
    bits : (q, d) array of 0 and 1, optional
        What each point stands for; by default its index in binary digits, most significant first.
    """
    refuse_masked("points", points)
    refuse_masked("bits", bits)
    array = np.asarray(points)
    if array.ndim != 1 or array.size < 2 or array.dtype.kind not in "fiuc":
        raise TypeError(f"`points` must be a vector of at least two complex numbers; got {shown(points)}")
    array = array.astype(np.complex128)
    if not np.all(np.isfinite(array)) or np.unique(array).size < array.size:
        raise ValueError("`points` must be finite and all different")
    digits = max(1, int(array.size - 1).bit_length())
    table = (np.arange(array.size)[:, None] >> np.arange(digits)[::-1]) & 1
    if bits is not None:
        table = np.asarray(bits)
        if table.ndim != 2 or len(table) != array.size or not np.all((table == 0) | (table == 1)):
            raise ValueError(f"`bits` must hold a row of 0 and 1 for each of {array.size} points")
        if len(np.unique(table, axis=0)) < array.size:
            raise ValueError("`bits` must be different for all points")
    return Alphabet(name, array, table.astype(np.int64))


def kind_of(kind: Any, labels: str | None = None) -> Constellation | Alphabet:
    """A grid or points, by name or as they are."""
    if not isinstance(kind, Alphabet | Constellation) and plain(kind) == PHASES:
        kind = phases(8)
    if not isinstance(kind, Alphabet):
        return constellation_of(kind, labels)
    if labels is not None:
        raise ValueError("`labels` goes with grids; points have the bits that `mimo.alphabet` gives them")
    return kind


def phases(q: int) -> Alphabet:
    """q points on the unit circle, Gray bits along it; the first at angle pi / q."""
    k = np.arange(q)
    table = ((k ^ k >> 1)[:, None] >> np.arange(q.bit_length() - 1)[::-1]) & 1
    return Alphabet(f"{q}psk", np.exp(1j * np.pi * (2 * k + 1) / q), table)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Which point (k, n_send) each symbol is, the losses (k,), what is proven, what was run, how it ended."""

    index: Host
    fun: Host
    sure: Host
    method: str
    status: Status


def choose(
    H: Host, Y: Host, kind: Alphabet, loss: Loss, seed: int, threads: Threads, share: float = 1.0
) -> Chosen:
    """The points of each frame of Y (k, n_receive) with a small loss of Hs - y.

    Few frames of points are all tried; more are a choice for each symbol, searched as a problem. Where the
    time, or the share of it that may be taken, is over, the nearest points of the matched filter are taken.
    """
    kept = 0.0 if threads.left is None else (1 - share) * threads.left
    few = kind.q ** H.shape[1] <= ALL
    every = np.array(list(product(range(kind.q), repeat=H.shape[1]))) if few else np.empty((0, 0), int)
    index, sure = np.empty((len(Y), H.shape[1]), int), np.zeros(len(Y), bool)
    for f, y in enumerate(Y):
        if threads.stop():
            index[f] = _matched(H, y, kind)
        elif few:
            values = loss.value(parts(kind.points[every] @ H.T - y))
            index[f], sure[f] = every[int(np.argmin(values))], True
        else:
            options = {"seed": seed, "n_jobs": threads.n_jobs, "time_limit": threads.left_but(kept)}
            index[f] = _searched(H, y, kind, loss, options)
    fun = np.asarray(loss.value(parts(kind.points[index] @ H.T - Y)))
    ending = Status.OPTIMAL if sure.all() else Status.CONVERGED
    return Chosen(index, fun, sure, "enumerate" if few else "auto", ending)


def choose_by_huber(H: Host, Y: Host, kind: Alphabet, seed: int, threads: Threads) -> Chosen:
    """The same under Huber's loss, whose threshold comes from an l1 fit; of both points the better one."""
    first = choose(H, Y, kind, as_loss("l1"), seed, threads, FIRST_SHARE)
    e = parts(kind.points[first.index] @ H.T - Y)
    loss = Huber(threshold_of(e, Y))
    fun, sure = np.asarray(loss.value(e)), np.zeros(len(Y), bool)
    if threads.stop():
        return replace(first, fun=fun, sure=sure, status=Status.CONVERGED)
    second = choose(H, Y, kind, loss, seed, threads)
    worse = fun < second.fun
    index = np.where(worse[:, None], first.index, second.index)
    return replace(second, index=index, fun=np.minimum(fun, second.fun), sure=second.sure & ~worse)


def parts(e: Host) -> Host:
    """Real parts, then imaginary ones."""
    return np.concatenate([e.real, e.imag], axis=-1)


def _matched(H: Host, y: Host, kind: Alphabet) -> Host:
    rough = (H.conj().T @ y) / np.maximum(np.sum(np.abs(H) ** 2, axis=0), np.finfo(float).tiny)
    return np.asarray(np.argmin(np.abs(rough[:, None] - kind.points), axis=1))


def _searched(H: Host, y: Host, kind: Alphabet, loss: Loss, options: dict[str, Any]) -> Host:
    from dcra import api

    n = H.shape[1]
    columns = (H[:, :, None] * kind.points).reshape(len(H), n * kind.q)
    A, b = np.vstack([columns.real, columns.imag]), parts(y)
    groups = one_of(np.arange(n * kind.q).reshape(n, kind.q))
    if isinstance(loss, SquaredL2):
        form = {"linear": -2 * A.T @ b, "quadratic": A.T @ A, "constant": float(b @ b)}
        problem = Problem(**form, domain="binary", constraints=groups)
    else:
        problem = Problem([Term(loss, A, b)], domain="binary", constraints=groups)
    x = np.asarray(api.solve(problem, starts=STARTS, **options).x).reshape(n, kind.q)
    return np.where(x.any(axis=1), x.argmax(axis=1), _matched(H, y, kind))
