"""The semidefinite relaxation of the quadratic part, and the lower bound that its dual gives.

Over spins s'Js + c's = <M, ss'> with M = [[J, c/2], [c'/2, 0]] and a last spin that is 1. For any y

    s'Js + c's >= - sum y - (n+1) shift     wherever  M + Diag(y) + shift I  is positive semidefinite,

and the low-rank solution V of min <M, VV'>, unit rows, has such a y: the lengths of the rows of MV. That the
matrix is positive definite is proved by its Cholesky factor, with an allowance for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from dcra import costs
from dcra._array import Host
from dcra._kernels.store import Dense
from dcra.bounds.dual import trivial_bound
from dcra.compiled.form import Compiled
from dcra.compiled.quadratic import QuadraticTables, stored_couplings
from dcra.model.definite import positive_definite
from dcra.model.rounding import smooth_size

EPS = float(np.finfo(np.float64).eps)
MOST_RANK = 48
MOST_DENSE = 8000
"""Largest n whose matrix is factorised: half a gigabyte."""

PATIENCE = 10.0
"""Seconds that a bound is worth where there is no time limit."""


class Relaxation:
    """Resumable: the low-rank factor by rows, from a fixed random start."""

    def __init__(self, quadratic: QuadraticTables, seed: int = 0) -> None:
        n = quadratic.field.size
        self.quadratic = quadratic
        rank = rank_for(n)
        V = np.random.default_rng(seed).standard_normal((n + 1, rank))
        self.V = V / np.linalg.norm(V, axis=1, keepdims=True)
        self.y = np.zeros(n + 1)
        self.place, self.passes, self.gained, self.change = 0, 0, 0.0, inf
        self.scratch = np.empty(rank)
        self.row_work = max(1, (_entries(quadratic) + n) * rank // (n + 1))

    def advance(self, work: int) -> None:
        """Visit rows for about `work` operations, to the end of a pass at most."""
        from dcra._kernels.mixing import mix

        last = min(len(self.V), self.place + 1 + work // self.row_work)
        C, field = self.quadratic.C, self.quadratic.field
        self.gained += mix(C, field, self.V, self.y, self.scratch, self.place, last)
        self.place = last
        if last == len(self.V):
            self.change = self.gained / max(float(np.sum(self.y)), 1e-300)
            self.place, self.gained, self.passes = 0, 0.0, self.passes + 1

    def value(self) -> float:
        """<M, VV'>, the value of the relaxation, once it has settled: -sum(y)/8."""
        return -float(np.sum(self.y)) / 8

    def lower_bound(self) -> float:
        """A number that s'Js + c's does not fall below; -inf where nothing is proved."""
        S = dense_matrix(self.quadratic)
        size = float(np.sum(np.abs(S)))
        y = self.y[: len(S)]
        p = len(S)
        unit = float(np.mean(y)) or 1.0
        for share in SHIFTS:
            shifted = S.copy()
            shifted[np.diag_indices(p)] += y + share * unit
            if positive_definite(shifted):
                trace = float(np.sum(y)) + p * share * unit
                allowance = 4 * p * (p + 2) * EPS * trace + p * EPS * size
                return (-trace - allowance) / 8
        return -inf


def rank_for(n: int) -> int:
    """Rows of a factor that has no bad local answers, or nearly none where that would take too many."""
    return int(min(MOST_RANK, np.ceil(np.sqrt(2 * (n + 1))) + 1))


def _entries(quadratic: QuadraticTables) -> int:
    C = quadratic.C
    return C.cols.size if isinstance(C, Dense) else C.val.size


SHIFTS = tuple(4.0**-k for k in range(7, 0, -1))


def proof_seconds(n: int) -> float:
    """About how long a proof takes: half of the shifts are tried."""
    return len(SHIFTS) / 2 * n**3 / 3 / costs.FACTOR_RATE


def dense_matrix(quadratic: QuadraticTables) -> Host:
    """8 M as a matrix; without the border where there are no fields."""
    C, field = quadratic.C, quadratic.field
    n = field.size
    bordered = bool(np.any(field))
    S = np.zeros((n + bordered, n + bordered))
    if isinstance(C, Dense):
        S[:n, :n] = C.cols
    else:
        S[np.repeat(np.arange(n), np.diff(C.ptr)), C.idx] = C.val
    if bordered:
        S[n, :n] = S[:n, n] = 2.0 * field
    return S


def affordable(n: int, entries: int, seconds: float) -> bool:
    """Whether the first proof, after some passes over n spins and their couplings, fits into the time."""
    passes = SdpRounds.ENDS[0] * (entries + n) * rank_for(n)
    return (
        n <= MOST_DENSE
        and proof_seconds(n) <= seconds
        and passes <= costs.RELAXATION_RATE * min(seconds, PATIENCE)
    )


class SdpRounds:
    """SdpRounds of passes, each with a proof; `least` is the best bound that was proved.

    A proof takes about as long as some hundred passes; it is made after 40 passes, then whenever their number
    has grown fourfold, and when the relaxation has settled.
    """

    SETTLED = 1e-6
    ENDS = (40, 160, 640, 2560)

    def __init__(self, relaxation: Relaxation) -> None:
        self.relaxation, self.before = relaxation, relaxation.passes
        self.least, self.count, self.done = -inf, 0, False

    def advance(self, work: int) -> None:
        """Go on with the passes of a round; the work decides only where to pause."""
        relaxation = self.relaxation
        relaxation.advance(work)
        settled = relaxation.change < self.SETTLED
        if relaxation.place == 0 and (relaxation.passes - self.before >= self.ENDS[self.count] or settled):
            self.least = max(self.least, relaxation.lower_bound())
            self.count += 1
            self.done = settled or self.count == len(self.ENDS)


@dataclass
class SdpStage:
    """The dual stage of problems with a quadratic term alone."""

    compiled: Compiled
    fun: float = inf
    seconds: float = inf

    def __post_init__(self) -> None:
        compiled = self.compiled
        self.bound = trivial_bound(compiled.problem)
        n, couplings = compiled.n, stored_couplings(compiled.quadratic, compiled.n)
        able = compiled.tabulated and not compiled.pieces
        self.passing: SdpRounds | None = None
        if able and affordable(n, couplings, self.seconds):
            self.passing = SdpRounds(Relaxation(compiled.quadratic_tables))

    @property
    def done(self) -> bool:
        return self.passing is None or self.passing.done

    @property
    def rounds(self) -> int:
        return 0 if self.passing is None else self.passing.count

    def advance(self, work: int) -> None:
        """Go on with the passes; the bound grows with each proof."""
        if self.passing is None or self.passing.done:
            return
        proofs = self.passing.count
        self.passing.advance(work)
        if self.passing.count > proofs:
            self.bound = max(self.bound, self._of_problem(self.passing.least))

    def _of_problem(self, least: float) -> float:
        """The bound on F that one on the scaled couplings gives."""
        compiled = self.compiled
        if least == -inf:
            return least
        own = compiled.value_scale * least
        precision = float(np.finfo(np.dtype(str(compiled.like.dtype).rpartition(".")[2])).eps)
        tables = compiled.quadratic_tables
        values = tables.C.cols if isinstance(tables.C, Dense) else tables.C.val
        sums = [float(np.sum(np.abs(part), dtype=np.float64)) for part in (tables.field, values)]
        rounded = precision * compiled.value_scale * sum(sums)  # where the working type is a short one
        summed = (compiled.n + 4) * EPS * smooth_size(compiled.problem)
        return own + compiled.offset - rounded - summed - 8 * EPS * (abs(own) + abs(compiled.offset))
