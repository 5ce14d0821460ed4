"""Least squares over levels: annealing in Gram form, sampling of the posterior, proof by sphere search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra._kernels import library
from dcra.apps.mimo import arrays
from dcra.apps.mimo.model import LARGE, Received
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.tree import k_best_levels, sphere_levels
from dcra.apps.mimo.triangular import Triangular, loaded, triangular

Host = NDArray[Any]

HOT, COLD = 3.0, 0.15
"""First and last temperature of annealing, in units of the noise variance: at 1 the posterior is sampled."""

SMALL = 64
"""Up to this many levels a frame there are tree searches, and more starts."""

EXACT_SPINS = 24
"""Up to this many spins the sphere search is never cut short."""

BRANCHES, MOST_KEPT, LEAST_KEPT = 1_000_000, 512, 32
"""Of the tree search that gives first points: for all frames together, and the limits of those kept."""

ANNEALED = 64_000
"""Levels annealed in all starts of small frames together."""

FIRST_NODES = 1_000
"""Nodes of the sphere search from the first point of a frame, before any annealing."""

ALL_NODES, MOST_NODES, LEAST_NODES = 10_000_000, 200_000, 2_000
"""Nodes afterwards: for all frames together that are left, and the limits for one."""

BELOW = 2.5
"""Standard deviations by which the loss of hard decisions is to be below that of samples of the posterior."""


HEAT_STEP = 1.4
"""Ratio of neighbouring temperatures between which copies of a frame are exchanged."""


COLDEST = 1e-32
"""Least temperature of sampling, in units of the mean diagonal of G: below, rounding decides."""


LONG, LONG_IN_ARRAYS = 48_000, 3_000
"""Most passes of sampling over all copies, where the compiled loops do it and where array code does."""

SURE = 0.01
"""Sampling goes on while its second half moves probabilities by more than this on average."""


class DetectionEffort(NamedTuple):
    """Starts of each frame, passes of each start; least and most passes of sampling, over all copies."""

    starts: int
    passes: int
    least: int
    most: int
    exchange: bool


def effort_for(n: int, frames: int) -> DetectionEffort:
    """More starts, and copies at several temperatures, where frames are small; more passes where large."""
    longest = LONG if library.available() else LONG_IN_ARRAYS
    if n <= SMALL:
        starts = int(np.clip(ANNEALED // (frames * n), 2, 8))
        return DetectionEffort(starts, 100, 3000, longest, True)
    return (
        DetectionEffort(4, 400, 3000, longest, True)
        if n <= LARGE
        else DetectionEffort(2, 400, 300, 300, False)
    )


def tree_form(model: Received) -> Triangular | None:
    """The triangular form of a system that is small enough for tree search."""
    return triangular(model) if model.n <= SMALL else None


class Fit(NamedTuple):
    """Levels (k, n), for which frames they are proven to be the best, and the stages that were run."""

    levels: Host
    sure: Host
    stages: tuple[str, ...]


def fit_least_squares(model: Received, effort: DetectionEffort, seed: int, threads: Threads) -> Fit:
    """Levels with small |y - Hs|^2.

    Easy frames are proven from their first points; the others are annealed before the search goes on.
    """
    form = tree_form(model)
    levels, first = first_points(model, form, threads)
    if form is None:
        every = np.arange(len(levels))
        levels = annealed(model, every, levels, effort, seed, threads)
        return Fit(levels, np.zeros(len(levels), bool), (first, "annealing"))
    levels, sure = sphere_levels(form, levels, FIRST_NODES, threads)
    left = np.flatnonzero(~sure)
    if left.size == 0:
        return Fit(levels, sure, (first, "sphere"))
    better = annealed(model, left, levels[left], effort, seed, threads)
    most = nodes_for(model, left.size)
    levels[left], sure[left] = sphere_levels(form.frames(left), better, most, threads)
    return Fit(levels, sure, (first, "annealing", "sphere"))


def first_points(model: Received, form: Triangular | None, threads: Threads) -> tuple[Host, str]:
    """Where the first start of each frame begins, and how it was found: tree search where quick."""
    rough = loaded(model) if form is not None else None
    if rough is not None:
        kept = int(np.clip(BRANCHES // model.h.size, LEAST_KEPT, MOST_KEPT))
        return k_best_levels(rough, kept, threads), "k-best"
    G, h = model.working
    nearest = model.constellation.nearest(h / np.maximum(np.diag(G), np.finfo(G.dtype).tiny))
    return nearest, "matched filter"


def nodes_for(model: Received, frames: int) -> int:
    """The most nodes of the sphere search for each of so many frames; few unknowns are always enough."""
    if model.n * model.constellation.digits <= EXACT_SPINS:
        return int(2 ** (EXACT_SPINS + 4))
    return int(np.clip(ALL_NODES // frames, LEAST_NODES, MOST_NODES))


def temperatures(model: Received, passes: int) -> Host:
    """From where levels move freely to well below the noise."""
    noise, step = model.noise_or_guess, float(np.mean(np.diag(model.working[0])))
    hot = max(HOT * noise, step)
    return np.asarray(np.geomspace(hot, min(COLD * noise, 0.05 * hot), passes))


def annealed(
    model: Received, which: Host, first: Host, effort: DetectionEffort, seed: int, threads: Threads
) -> Host:
    """Levels (k, n) of some frames: the best of several annealed starts, which begin at `first`."""
    from dcra._kernels.lattice import search_levels, search_scratch

    G, h = model.working
    h = np.ascontiguousarray(h[which])
    k, n = h.shape
    U = np.zeros((k * effort.starts, n), G.dtype)
    U[:: effort.starts] = first
    F = np.full(len(U), np.inf)
    ladder = temperatures(model, effort.passes)
    q = model.constellation.q

    def loops(lo: int, hi: int) -> None:
        scratch = search_scratch(n, G.dtype)
        search_levels(G, h, lo, hi, q, effort.starts, np.uint64(seed), ladder, U, F, scratch)

    def in_step(lo: int, hi: int) -> None:
        arrays.search_levels(G, h, lo, hi, q, effort.starts, seed, ladder, U, F, threads.stop)

    threads.spread(loops if library.available() else in_step, len(U))
    best = np.argmin(F.reshape(k, effort.starts), axis=1)  # the first of all where none was begun
    return np.asarray(U.reshape(k, effort.starts, n)[np.arange(k), best], np.float64)


def fitted(model: Received, levels: Host, bounds: Host) -> Host:
    """Levels (k, n) moved by the steepest single steps until their losses less |y|^2 are below `bounds`."""
    G, h = model.working
    half, out = np.diag(G), levels.astype(G.dtype)
    for f, u in enumerate(out):
        g = G @ u - h[f]
        value = float(u @ (g - h[f]))
        while value > bounds[f]:
            d = model.constellation.nearest(u - g / half) - u
            gains = -d * (2 * g + d * half)
            i = int(np.argmax(gains))
            if gains[i] <= 1e-6 * half[i]:
                break
            value -= float(gains[i])
            u[i] += d[i]
            g += d[i] * G[i]
    return out.astype(np.float64)


def sampling_temperatures(model: Received) -> Host:
    """From the noise to where levels move freely."""
    step = float(np.mean(np.diag(model.working[0])))
    noise = max(model.noise_or_guess, COLDEST * step)
    hot = max(HOT * noise, step)
    return np.asarray(np.geomspace(noise, hot, 1 + int(np.ceil(np.log(hot / noise) / np.log(HEAT_STEP)))))


class Posterior(NamedTuple):
    """Probabilities (k, n, q) of the levels, and what values most samples have: mean less some deviations.

    A frame left undone after Ctrl-C is certain, and needs no smaller value.
    """

    P: Host
    low: Host


def sampled(model: Received, levels: Host, effort: DetectionEffort, seed: int, threads: Threads) -> Posterior:
    """The posterior of the levels by sampling from good points."""
    from dcra._kernels.lattice import Samples, sample_levels, sample_scratch

    G, h = model.working
    U, q = levels.astype(G.dtype), model.constellation.q
    P, E = np.eye(q)[model.constellation.index(levels)], np.full((len(U), 2), np.nan)
    heats = sampling_temperatures(model) if effort.exchange else np.array([model.noise_or_guess])
    copies = heats.size
    least, most = max(8, effort.least // copies), effort.most // copies

    def loops(lo: int, hi: int) -> None:
        scratch = sample_scratch(copies, model.n, q, G.dtype)
        samples = Samples(U, P, E)
        sample_levels(G, h, lo, hi, np.uint64(seed), heats, least, most, SURE, samples, scratch)

    def in_step(lo: int, hi: int) -> None:
        found = arrays.Samples(U, P, E)
        arrays.sample_levels(G, h, lo, hi, seed, heats, least, most, SURE, found, threads.stop)

    threads.spread(loops if library.available() else in_step, len(U))
    deviation = np.sqrt(np.maximum(E[:, 1] - E[:, 0] ** 2, 0.0))
    low = E[:, 0] - BELOW * deviation
    return Posterior(P, np.where(np.isnan(low), np.inf, low))
