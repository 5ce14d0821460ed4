"""Squared loss over levels -(q-1), ..., -1, 1, ..., q-1 in Gram form: u'Gu - 2 h'u, with fields g = Gu - h.

Moving u_i by d changes the value by 2 d g_i + d^2 G_ii, and the fields by d times a row of G: what would be a
pass over a column of A in the template is one number here.
"""

from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from .face import Loop, Struct
from .store import Array


class _SearchScratch(NamedTuple):
    u: Array
    g: Array
    best: Array
    rng: Array


class SearchScratch(_SearchScratch, Struct):
    """A point, its fields, the best point, and a random state."""

    layout = """
        u     real (n) rw
        g     real (n) rw
        best  real (n) rw
        rng   uint64 (4) rw
    """


def search_scratch(n: int, dtype: Any) -> SearchScratch:
    """Work space of one thread."""
    u, g, best = (np.empty(n, dtype) for _ in range(3))
    return SearchScratch(u, g, best, np.empty(4, np.uint64))


class _Samples(NamedTuple):
    U: Array
    P: Array
    E: Array


class Samples(_Samples, Struct):
    """Points of the frames, probabilities of their levels, and mean and mean square of their values."""

    layout = """
        U  real (k, n)
        P  float64 (k, n, q) rw
        E  float64 (k, 2) rw
    """


class _SampleScratch(NamedTuple):
    u: Array
    g: Array
    values: Array
    order: Array
    weights: Array
    half: Array
    rng: Array


class SampleScratch(_SampleScratch, Struct):
    """Points, fields and values of the copies of a frame, their order, and its probabilities so far."""

    layout = """
        u        real (copies, n) rw
        g        real (copies, n) rw
        values   float64 (copies) rw
        order    int64 (copies) rw
        weights  float64 (q) rw
        half     float64 (n, q) rw
        rng      uint64 (4) rw
    """


def sample_scratch(copies: int, n: int, q: int, dtype: Any) -> SampleScratch:
    """Work space of one thread."""
    u, g = (np.empty((copies, n), dtype) for _ in range(2))
    values, order = np.empty(copies), np.empty(copies, np.int64)
    return SampleScratch(u, g, values, order, np.empty(q), np.zeros((n, q)), np.empty(4, np.uint64))


class _SphereScratch(NamedTuple):
    part: Array
    level: Array
    step: Array
    rest: Array
    stale: Array


class SphereScratch(_SphereScratch, Struct):
    """Distances, optima and next steps at each depth; rest[k, j] is what unknowns j, ..., n-1 leave of z_k.

    stale[k] is the last of them that has moved since (Ghasemmehdi and Agrell).
    """

    layout = """
        part   float64 (n+1) rw
        level  float64 (n) rw
        step   float64 (n) rw
        rest   float64 (n, n+1) rw
        stale  int64 (n) rw
    """


def sphere_scratch(n: int) -> SphereScratch:
    """Work space of one thread."""
    level, step = np.empty((2, n))
    return SphereScratch(np.empty(n + 1), level, step, np.empty((n, n + 1)), np.empty(n, np.int64))


_search_levels = Loop(
    "lattice.search_levels",
    """
    G             real (n, n)
    targets       real (frames, n)
    lo            int
    hi            int
    q             int
    starts        int
    seed          uint64
    temperatures  float64 (passes)
    U             real (jobs, n) rw
    F             float64 (jobs) rw
    scratch       SearchScratch
    """,
    returns=int,
)
_sample_levels = Loop(
    "lattice.sample_levels",
    """
    G             real (n, n)
    targets       real (k, n)
    lo            int
    hi            int
    seed          uint64
    temperatures  float64 (copies)
    least         int
    most          int
    tolerance     float
    samples       Samples
    scratch       SampleScratch
    """,
)
_sphere = Loop(
    "lattice.sphere",
    """
    R        float64 (n, n)
    z        float64 (n)
    q        int
    u        float64 (n) rw
    best     float64 (n) rw
    radius   float64 (1) rw
    most     int
    scratch  SphereScratch
    """,
    returns=int,
)


def search_levels(
    G: Array,
    targets: Array,
    lo: int,
    hi: int,
    q: int,
    starts: int,
    seed: SupportsIndex,
    temperatures: Array,
    U: Array,
    F: Array,
    scratch: SearchScratch,
) -> int:
    """Anneal jobs lo..hi; job k is start k % starts of the frame k // starts, whose h is a row of targets.

    Fills U[k] and F[k] with the best point met and its value without the constant |y|^2. Start 0 of a frame
    begins at U[k] as it comes, the others at random. temperatures (T,) are in the units of G; a pass of
    exact descent follows each annealing. What is random in job k depends on (seed, k) alone.

    Returns the moves proposed.
    """
    jobs = len(targets) * starts
    if starts < 1 or q < 1 or lo < 0 or hi > min(jobs, len(U)):
        raise ValueError(f"`lo` and `hi` must be in 0..{jobs}, `starts` and `q` positive; got {lo} and {hi}")
    return _search_levels(G, targets, lo, hi, q, starts, index(seed), temperatures, U, F, scratch)


def sample_levels(
    G: Array,
    targets: Array,
    lo: int,
    hi: int,
    seed: SupportsIndex,
    temperatures: Array,
    least: int,
    most: int,
    tolerance: float,
    samples: Samples,
    scratch: SampleScratch,
) -> None:
    """Sample exp(-value / temperature) for the frames lo..hi by heat bath, from U.

    There is a copy of the frame at each of `temperatures`, ascending; copies of neighbouring temperatures
    are exchanged by Metropolis' rule. P[k, i, l] is the mean, over the passes after the first `least / 4`, of
    the probability of level l of coordinate i at the lowest temperature, given all others; E[k] the mean and
    the mean square of the value there. There are `least` passes, and twice as many as before, up to `most`,
    while the second half of them moves the probabilities by more than `tolerance` on average.
    """
    if lo < 0 or hi > len(targets):
        raise ValueError(f"`lo` and `hi` must be in 0..{len(targets)}; got {lo} and {hi}")
    _sample_levels(G, targets, lo, hi, index(seed), temperatures, least, most, tolerance, samples, scratch)


def sphere(
    R: Array, z: Array, q: int, u: Array, best: Array, radius: float, most: int, scratch: SphereScratch
) -> tuple[float, int]:
    """Depth-first search for the levels with least |z - R u|^2, R upper triangular, nearest levels first.

    `best` holds a point of squared distance `radius`, and at the end the best one found. Returns the least
    squared distance and the nodes visited; more than `most` means that the search was cut short.
    """
    least = np.array([radius], np.float64)
    nodes = _sphere(R, z, q, u, best, least, most, scratch)
    return float(least[0]), nodes
