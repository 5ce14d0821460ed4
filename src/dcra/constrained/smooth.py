"""Starts that vary little from neighbour to neighbour, for couplings within counts.

Where couplings pull neighbours together and a graph has room (meshes, roads, points that are joined to near
ones), good halves have short borders. Heat that has spread from random sources for a time t finds such:

    v = e^(-t (1 - M)) noise,      M = -D^(-1/2) C D^(-1/2),      D the sums of |C| by columns,

by the expansion of the exponential in Chebyshev polynomials of M, whose eigenvalues are in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Any, ClassVar

import numpy as np

from dcra._array import Host
from dcra._kernels.store import Sparse, segment_sums
from dcra.compiled.form import Compiled
from dcra.constrained.swap import groups_of
from dcra.engines.base import Engine, InTurn, Starts
from dcra.foreign import importing

LONGEST = 2.0
"""Times are between n^(2/3), in which heat crosses a body of n nodes, about, and so many times n: a plane."""

TERMS = 6.5
"""Terms of the expansion in units of sqrt(t): those beyond are below 1e-9."""


@dataclass(frozen=True)
class Smooth(Engine):
    """Fields of heat, rounded to the counts; for sparse couplings alone.

    Parameters
    ----------
    terms : float
        Products by the couplings that one may take at most.
    """

    terms: float = inf

    name: ClassVar[str] = "smooth"
    needs: ClassVar[frozenset[str]] = frozenset({"table"})

    def start(self, compiled: Compiled, starts: Starts) -> SmoothState:
        return SmoothState(self, compiled, starts)


class SmoothState(InTurn):
    """One field after another; `last` and `before` are terms of T_k = 2 M T_(k-1) - T_(k-2), applied."""

    def __init__(self, engine: Smooth, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.M, self.scale, self.even = compiled.once(spreading)
        self.points = np.ones((starts.count, compiled.n))
        super().__init__(starts.count)

    def begin(self) -> None:
        n = self.compiled.n
        rng = np.random.default_rng((self.starts.seed, self.starts.first + self.current, 5))
        shortest, longest = n ** (2 / 3), LONGEST * n
        time = min(shortest * (longest / shortest) ** rng.uniform(), (self.engine.terms / TERMS) ** 2)
        self.weights = weights(time)
        self.before = self._uneven(rng.standard_normal(n))
        self.last = self.M @ self.before
        self.v = self.weights[0] * self.before + 2.0 * self.weights[1] * self.last  # T_0 and T_1
        self.made = 2

    def search(self, work: int) -> bool:
        step = max(1, self.M.nnz)
        end = min(self.weights.size, self.made + 1 + work // step)
        for k in range(self.made, end):
            self.before, self.last = self.last, 2.0 * (self.M @ self.last) - self.before
            self.v += 2.0 * self.weights[k] * self.last
        self._steps += end - self.made
        self._work += step * (end - self.made)
        self.made = end
        return bool(end == self.weights.size)

    def keep(self, finished: bool) -> None:
        if finished:
            self.points[self.current] = self._rounded(self.scale * self._uneven(self.v))

    def candidates(self) -> Host:
        return self.points

    def _uneven(self, v: Host) -> Host:
        """Without the mode that moves all to one side, which counts forbid."""
        rest: Host = v - (self.even @ v) * self.even
        return rest

    def _rounded(self, u: Host) -> Host:
        """Up what is highest, as many of each group as may be; signs elsewhere."""
        spins = np.where(u > 0, 1.0, -1.0)
        for members, least, most in groups_of(self.compiled):
            ups = int(np.clip(np.count_nonzero(u[members] > 0), least, most))
            order = members[np.argsort(-u[members], kind="stable")]
            spins[order[:ups]], spins[order[ups:]] = 1.0, -1.0
        return spins


def weights(time: float) -> Host:
    """Those of T_0, and halves of those of T_1, T_2, ...: e^(-t) I_k(t), Fourier's for e^(-t (1 - cos))."""
    count = ceil(TERMS * sqrt(time)) + 2
    angles = np.pi / count * np.arange(2 * count)
    return np.asarray(np.fft.rfft(np.exp(time * (np.cos(angles) - 1.0))).real[:count] / (2 * count))


def spreading(compiled: Compiled) -> tuple[Any, Host, Host]:
    """M, D^(-1/2) e, and the mode of M that is even everywhere, where all couplings pull together."""
    with importing():
        from scipy import sparse

    C = compiled.quadratic_tables.C
    assert isinstance(C, Sparse)
    sums = segment_sums(abs(C.val), C.ptr)
    roots = np.sqrt(np.where(sums > 0, sums, 1.0))
    scale = 1.0 / roots
    values = C.val * -scale[C.idx]
    values *= np.repeat(scale, np.diff(C.ptr))
    M = sparse.csr_array((values, C.idx, C.ptr), shape=(compiled.n, compiled.n))  # its rows are its columns
    return M, scale, roots / np.linalg.norm(roots)
