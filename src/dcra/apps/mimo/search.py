"""Least squares over levels: annealing in Gram form, sampling of the posterior, proof by sphere search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.model import LARGE, Received
from dcra.apps.mimo.parallel import spread
from dcra.apps.mimo.tree import k_best_levels, sphere_levels
from dcra.apps.mimo.triangular import Triangular, loaded, triangular

Host = NDArray[Any]

HOT, COLD = 3.0, 0.15
"""First and last temperature of annealing, in units of the noise variance: at 1 the posterior is sampled."""

SMALL = 64
"""Up to this many levels a frame there are tree searches, and more starts."""

EXACT_SPINS = 24
"""Up to this many spins the sphere search is never cut short."""

KEPT = 64
"""Branches kept in the tree search that gives first points."""

ALL_NODES, MOST_NODES, LEAST_NODES = 10_000_000, 200_000, 2_000
"""Nodes of the sphere search otherwise: for all frames together, and the limits for one."""


BELOW = 2.5
"""Standard deviations by which the loss of hard decisions is to be below that of samples of the posterior."""


class Effort(NamedTuple):
    """Starts of each frame, passes of each start; for soft answers passes of sampling, and copies."""

    starts: int
    passes: int
    sweeps: int
    copies: int


def effort_for(n: int, frames: int) -> Effort:
    """More starts, and copies at several temperatures, where frames are small; more passes where large."""
    if n <= SMALL:
        return Effort(8 if frames <= 64 else 3, 100, 600, 10)
    return Effort(4, 400, 600, 10) if n <= LARGE else Effort(2, 400, 300, 1)


def tree_form(model: Received) -> Triangular | None:
    """The triangular form of a system that is small enough for tree search."""
    return triangular(model) if model.n <= SMALL else None


def first_points(model: Received, form: Triangular | None, n_jobs: int) -> Host:
    """Where the first start of each frame begins: tree search where quick, else the matched filter."""
    rough = loaded(model) if form is not None else None
    if rough is not None:
        return k_best_levels(rough, KEPT, n_jobs)
    G, h = model.working
    return model.constellation.nearest(h / np.maximum(np.diag(G), np.finfo(G.dtype).tiny))


def temperatures(model: Received, passes: int) -> Host:
    """From where levels move freely to well below the noise."""
    noise, step = model.noise_or_guess, float(np.mean(np.diag(model.working[0])))
    hot = max(HOT * noise, step)
    return np.asarray(np.geomspace(hot, min(COLD * noise, 0.05 * hot), passes))


def least_squares(model: Received, form: Triangular | None, effort: Effort, seed: int, n_jobs: int) -> Host:
    """Levels (k, n) with small |y - Hs|^2: the best of several annealed starts for each frame."""
    from dcra._kernels.lattice import search_levels

    G, h = model.working
    k, n = h.shape
    U = np.zeros((k * effort.starts, n), G.dtype)
    U[:: effort.starts] = first_points(model, form, n_jobs)
    F = np.empty(len(U))
    ladder = temperatures(model, effort.passes)
    q = model.constellation.q

    def work(lo: int, hi: int) -> None:
        scratch = (*(np.empty(n, G.dtype) for _ in range(3)), np.empty(4, np.uint64))
        search_levels(G, h, lo, hi, q, effort.starts, np.uint64(seed), ladder, U, F, scratch)

    spread(work, len(U), n_jobs)
    best = np.argmin(F.reshape(k, effort.starts), axis=1)
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


def proven(model: Received, form: Triangular | None, levels: Host, n_jobs: int) -> tuple[Host, Host]:
    """Better levels where the sphere search finds any, and for which frames it went to its end."""
    if form is None:
        return levels, np.zeros(len(levels), bool)
    spins = model.n * model.constellation.digits
    share = int(np.clip(ALL_NODES // len(levels), LEAST_NODES, MOST_NODES))
    most = share if spins > EXACT_SPINS else 2 ** (EXACT_SPINS + 4)
    return sphere_levels(form, levels, most, n_jobs)


class Posterior(NamedTuple):
    """Probabilities (k, n, q) of the levels, and what values most samples have: mean less some deviations."""

    P: Host
    low: Host


def sampled(model: Received, levels: Host, effort: Effort, seed: int, n_jobs: int) -> Posterior:
    """The posterior of the levels by sampling from good points."""
    from dcra._kernels.lattice import sample_levels

    G, h = model.working
    U, q = levels.astype(G.dtype), model.constellation.q
    P, E = np.empty((*U.shape, q)), np.empty((len(U), 2))
    noise = model.noise_or_guess
    hot = max(HOT * noise, float(np.mean(np.diag(G))))
    heats = np.geomspace(noise, hot, effort.copies) if effort.copies > 1 else np.array([noise])

    def work(lo: int, hi: int) -> None:
        points = (np.empty((effort.copies, model.n), G.dtype) for _ in range(2))
        scratch = (*points, np.empty(effort.copies), np.empty(effort.copies, np.int64), np.empty(q))
        rng = np.empty(4, np.uint64)
        burn = effort.sweeps // 4
        sample_levels(G, h, lo, hi, q, np.uint64(seed), heats, burn, effort.sweeps, U, P, E, (*scratch, rng))

    spread(work, len(U), n_jobs)
    spread_of = np.sqrt(np.maximum(E[:, 1] - E[:, 0] ** 2, 0.0))
    return Posterior(P, E[:, 0] - BELOW * spread_of)
