"""The searches over levels in array code, for installations without the compiled loops.

The functions have the names, and fill the arrays, of the loops in `_kernels.lattice` and `_kernels.tree`;
frames of one call move in step. They look at `stop` between passes and return what they have. What is random
in a job depends on (seed, job) alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host

FROZEN = 40.0
"""Weights of levels are at least exp(-FROZEN)."""

LONGEST = 1000
"""Passes of a descent that rounding keeps from ending."""

BLOCK = 1024
"""Partial frames that the sphere search takes one level further at a time."""

Stopping = Callable[[], bool]


def breadth_first(R: Host, Z: Host, lo: int, hi: int, q: int, keep: int, out: Host) -> None:
    """Fill out[f], f = lo..hi, with levels of small |Z[f] - R u|^2, the `keep` best partial frames kept."""
    choices = np.arange(1.0 - q, q, 2.0)
    n, frames = R.shape[0], hi - lo
    points, costs = np.empty((frames, 1, 0)), np.zeros((frames, 1))
    for i in range(n - 1, -1, -1):
        rest = Z[lo:hi, i, None] - np.einsum("fkj,j->fk", points, R[i, i + 1 :])
        totals = (costs[:, :, None] + (rest[:, :, None] - R[i, i] * choices) ** 2).reshape(frames, -1)
        kept = min(keep, totals.shape[1])
        order = np.argpartition(totals, kept - 1, axis=1)[:, :kept]
        costs = np.take_along_axis(totals, order, axis=1)
        parents = np.take_along_axis(points, (order // q)[:, :, None], axis=1)
        points = np.concatenate([choices[order % q][:, :, None], parents], axis=2)
    out[lo:hi] = points[np.arange(frames), np.argmin(costs, axis=1)]


class Partial(NamedTuple):
    """Partial frames of one depth: which frame each belongs to, its last unknowns, and its distance."""

    frame: Host
    points: Host
    costs: Host


def sphere(R: Host, Z: Host, lo: int, hi: int, q: int, best: Host, radius: Host, most: int) -> Host:
    """Levels of least |Z[f] - R u|^2, f = lo..hi, by a search for all that is nearer than the best so far.

    `best` (frames, n) holds points of squared distances `radius` (frames,), at the end the best ones found.
    Blocks of partial frames, the nearest first, are taken a level further, the deepest block before others.

    Returns
    -------
    nodes : (hi - lo,) array
        Partial frames met within the radius; more than `most` mean that the search was cut short.
    """
    n = R.shape[0]
    nodes = np.zeros(len(Z), np.int64)
    blocks = [Partial(np.arange(lo, hi), np.empty((hi - lo, 0)), np.zeros(hi - lo))]
    while blocks:
        block = _nearer(blocks.pop(), radius, nodes <= most)
        if block.frame.size == 0:
            continue
        further = _nearer(_branched(R, Z, q, block), radius, nodes <= most)
        nodes += np.bincount(further.frame, minlength=len(Z))
        if further.points.shape[1] == n:
            _improve(further, best, radius)
            continue
        order = np.argsort(further.costs / radius[further.frame], kind="stable")
        slices = [order[first : first + BLOCK] for first in range(0, order.size, BLOCK)]
        blocks += [Partial(*(part[where] for part in further)) for where in reversed(slices)]
    return nodes[lo:hi]


def _nearer(block: Partial, radius: Host, within: Host) -> Partial:
    """What is nearer than the best so far, of frames that have nodes left."""
    keep = (block.costs < radius[block.frame]) & within[block.frame]
    return Partial(*(part[keep] for part in block))


def _branched(R: Host, Z: Host, q: int, block: Partial) -> Partial:
    """Partial frames with one unknown more, at each of its levels."""
    choices = np.arange(1.0 - q, q, 2.0)
    i = R.shape[0] - 1 - block.points.shape[1]
    rest = Z[block.frame, i] - np.einsum("kj,j->k", block.points, R[i, i + 1 :])
    costs = block.costs[:, None] + (rest[:, None] - R[i, i] * choices) ** 2
    levels = np.tile(choices, len(rest))
    points = np.column_stack([levels, np.repeat(block.points, q, axis=0)])
    return Partial(np.repeat(block.frame, q), points, costs.ravel())


def _improve(whole: Partial, best: Host, radius: Host) -> None:
    """The nearest frames of a block, of those that lie within the radius, are the best so far."""
    order = np.lexsort((whole.costs, whole.frame))
    frames, first = np.unique(whole.frame[order], return_index=True)
    best[frames], radius[frames] = whole.points[order[first]], whole.costs[order[first]]


def search_levels(
    G: Host,
    targets: Host,
    lo: int,
    hi: int,
    q: int,
    starts: int,
    seed: int,
    temperatures: Host,
    U: Host,
    F: Host,
    stop: Stopping,
) -> None:
    """Anneal jobs lo..hi in step; job k is start k % starts of the frame k // starts.

    As `_kernels.lattice.search_levels`, but the best point is looked for after each pass.
    """
    jobs = np.arange(lo, hi)
    random = [np.random.default_rng((seed, int(k))) for k in jobs]
    drawn = np.stack([2.0 * rng.integers(q, size=len(G)) - (q - 1) for rng in random], axis=1)
    u = np.where(jobs % starts == 0, U[lo:hi].T, drawn).astype(G.dtype)
    h = targets[jobs // starts].T
    g, value = fields(G, h, u)
    best, lowest = u.copy(), value.copy()
    for temperature in temperatures:
        if stop():
            break
        chances = np.stack([rng.random((2, len(G))) for rng in random], axis=2)
        value += _pass(G, q, temperature, u, g, chances)
        better = value < lowest
        best[:, better], lowest[better] = u[:, better], value[better]
    F[lo:hi] = _descend(G, h, q, best)
    U[lo:hi] = best.T


def fields(G: Host, h: Host, u: Host) -> tuple[Host, Host]:
    """g = Gu - h and the values u'Gu - 2 h'u of points, which are columns of u."""
    g = np.stack([G @ point for point in u.T], axis=1) - h  # by columns: the sums do not depend on how many
    return g, np.asarray(np.sum(u * (g - h), axis=0, dtype=np.float64))


def _pass(G: Host, q: int, temperature: float, u: Host, g: Host, chances: Host) -> Host:
    """One proposal per coordinate, a step to a neighbouring level; what it changes the values by."""
    change = np.zeros(u.shape[1])
    top = q - 1
    for i in range(len(G)):
        down = np.where(np.abs(u[i]) == top, u[i] > 0, chances[0, i] < 0.5)
        d = np.where(down, -2, 2).astype(G.dtype)
        rise = d * (2 * g[i] + d * G[i, i])
        taken = chances[1, i] < np.exp(-np.clip(rise / temperature, 0.0, FROZEN))
        d, rise = np.where(taken, d, 0), np.where(taken, rise, 0)
        change += rise
        u[i] += d
        g += G[i][:, None] * d
    return change


def _descend(G: Host, h: Host, q: int, u: Host) -> Host:
    """Move single coordinates of u to their best levels until none improves; the values."""
    g, _ = fields(G, h, u)
    top = q - 1
    for _ in range(LONGEST):
        moved = False
        for i, curvature in enumerate(np.diag(G)):
            real = u[i] - g[i] / curvature if curvature > 0 else u[i]
            d = np.clip(2 * np.floor(0.5 * (real + top) + 0.5) - top, -top, top) - u[i]
            d = np.where(-d * (2 * g[i] + d * curvature) > 1e-6 * curvature, d, 0).astype(G.dtype)
            if d.any():
                moved = True
                u[i] += d
                g += G[i][:, None] * d
        if not moved:
            break
    return fields(G, h, u)[1]


class Samples(NamedTuple):
    """Points, probabilities of their levels, mean and mean square of values: `_kernels.lattice.Samples`."""

    U: Host
    P: Host
    E: Host


def sample_levels(
    G: Host,
    targets: Host,
    lo: int,
    hi: int,
    seed: int,
    temperatures: Host,
    least: int,
    most: int,
    tolerance: float,
    samples: Samples,
    stop: Stopping,
) -> None:
    """Sample exp(-value / temperature) for the frames lo..hi in step; see `_kernels.lattice.sample_levels`.

    Frames that `stop` leaves undone keep what they came with.
    """
    q = samples.P.shape[2]
    copies = _Copies(G, targets[lo:hi], samples.U[lo:hi], temperatures, q)
    which = np.arange(lo, hi)
    random = [np.random.default_rng((seed, int(k))) for k in which]
    done, passes = -(least // 4), least // 2
    half = np.zeros(samples.P[lo:hi].shape)
    while which.size:
        for s in range(done, passes):
            if stop():
                return
            copies.draw(random, counted=s >= 0)
        done = passes
        now = np.moveaxis(copies.P, -1, 0) / done
        far = np.mean(np.abs(now - half), axis=(1, 2))
        samples.P[which], samples.E[which] = now, copies.E.T / done
        passes = 2 * done
        on = np.full(which.size, True) if done < least else (passes <= most) & (far > tolerance)
        half, which = now[on], which[on]
        random = [rng for rng, going in zip(random, on, strict=True) if going]
        copies.keep(on)


class _Copies:
    """Copies of frames, one at each temperature: u and g (n, copies, frames), values (copies, frames).

    P (n, q, frames) and E (2, frames) are sums over passes, of the coldest copies.
    """

    def __init__(self, G: Host, targets: Host, U: Host, temperatures: Host, q: int) -> None:
        k, n = U.shape
        self.G, self.colder = G, 1 / temperatures[:, None]
        self.choices = np.arange(1.0 - q, q, 2.0, dtype=G.dtype)
        g, values = fields(G, targets.T, U.T)
        number = temperatures.size
        self.u, self.g = (np.repeat(x[:, None], number, axis=1) for x in (U.T, g))
        self.values = np.tile(values, (number, 1))
        self.P, self.E = np.zeros((n, q, k)), np.zeros((2, k))

    def keep(self, on: Host) -> None:
        """Go on with some of the frames."""
        for name in ("u", "g", "values", "P", "E"):
            setattr(self, name, getattr(self, name)[..., on])

    def draw(self, random: list[Any], counted: bool) -> None:
        """A pass of heat bath over all copies, then exchanges between neighbouring temperatures."""
        number = len(self.values)
        chances = np.stack([rng.random((len(self.G) + 1, number)) for rng in random], axis=2)
        for i in range(len(self.G)):
            self._draw_one(i, chances[i], counted)
        self._exchange(chances[-1])
        if counted:
            self.E += self.values[0], self.values[0] ** 2

    def _draw_one(self, i: int, chance: Host, counted: bool) -> None:
        u, row = self.u[i], self.G[i]
        twice, curvature = 2 * self.g[i], row[i]
        d = self.choices[:, None, None] - u
        rises = d * (twice + d * curvature)
        weights = np.exp(np.maximum((rises.min(axis=0) - rises) * self.colder, -FROZEN))
        below = np.cumsum(weights, axis=0)
        if counted:
            self.P[i] += weights[:, 0] / below[-1, 0]
        level = (chance * below[-1] >= below[:-1]).sum(axis=0)
        step = self.choices[level] - u
        self.values += step * (twice + step * curvature)
        u += step
        self.g += row[:, None, None] * step

    def _exchange(self, chance: Host) -> None:
        """Metropolis' rule, from the highest temperature down."""
        order = np.repeat(np.arange(len(self.values))[:, None], self.values.shape[1], axis=1)
        frames = np.arange(self.values.shape[1])
        for t in range(len(order) - 1, 0, -1):
            down, up = order[t - 1].copy(), order[t].copy()
            higher = self.values[down, frames] - self.values[up, frames]
            gain = (self.colder[t - 1] - self.colder[t]) * higher
            swap = chance[t] < np.exp(np.minimum(gain, 0.0))
            order[t - 1], order[t] = np.where(swap, up, down), np.where(swap, down, up)
        self.values = self.values[order, frames]
        self.u, self.g = self.u[:, order, frames], self.g[:, order, frames]
