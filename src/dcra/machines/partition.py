"""A share of the rows of A, and what is computed where they lie.

Every function here is pure, takes a partition first and returns small things, or residuals that stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcra._array import Host, to_numpy
from dcra.bounds.dual import trivial_bound
from dcra.compiled.form import Compiled, compile_problem
from dcra.foreign import importing
from dcra.model.operators import MatrixFree
from dcra.model.problem import Problem
from dcra.model.term import Term

GAIN_ENTRIES = 1 << 22
"""Residuals of flipped points in memory at once."""


class Span(NamedTuple):
    """Columns lo..hi."""

    lo: int
    hi: int


class Partition:
    """Some rows of A with their b and weights, in compiled form."""

    def __init__(self, A: Any, b: Host, weights: Any, loss: Any, domain: str) -> None:
        self.problem = Problem([Term(loss, A, b, weights)], domain=domain)
        if not self.problem.terms[0].loss.separable:
            name = type(self.problem.terms[0].loss).__name__
            raise ValueError(f"`loss` must be a sum over rows where `A` is in partitions; {name} is none")

    @property
    def compiled(self) -> Compiled:
        if "_compiled" not in self.__dict__:
            self._compiled = compile_problem(self.problem)
        return self._compiled

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem}

    def __sizeof__(self) -> int:
        return 8 * self.problem.entries if self.problem.like.itemsize == 8 else 4 * self.problem.entries


class Survey(NamedTuple):
    """What a plan must know of a partition: sums over its rows, and a Gram matrix for each block."""

    n: int
    rows: int
    grams: list[Host]
    size: float  # of residuals at a random point
    squares: float  # of slopes there
    curvature: float  # of the smoothed loss at delta = 1, and whether it needs to be smoothed
    smooth: bool
    trivial: float


def read(path: str | Path) -> Any:
    """Rows of A in a file: an array of NumPy, which is mapped, or a matrix that SciPy has saved."""
    if Path(path).suffix == ".npy":
        return np.load(path, mmap_mode="r")
    with importing():
        from scipy import sparse

    return sparse.load_npz(path)


def open_partition(A: Any, *rest: Any) -> Partition:
    """The partition of some rows; of those in a file where A is its name."""
    return Partition(read(A) if isinstance(A, str | Path) else A, *rest)


def survey(part: Partition, spans: list[Span], signs: Host) -> Survey:
    compiled = part.compiled
    if not compiled.pieces:
        return Survey(compiled.n, 0, [np.zeros((s.hi - s.lo,) * 2) for s in spans], 0.0, 0.0, 0.0, True, 0.0)
    piece = compiled.pieces[0]
    assert not isinstance(piece.operator, MatrixFree)
    z = to_numpy(compiled.residual(signs.astype(compiled.like.dtype))).astype(np.float64)
    slopes = piece.slopes(z, 0.0 if piece.smooth else 1e-3 * float(np.mean(np.abs(z))) or 1.0)
    scale = compiled.value_scale
    return Survey(
        compiled.n,
        z.size,
        [scale * np.asarray(piece.operator.columns(*span).gram(), np.float64) for span in spans],
        float(np.sum(np.abs(z))),
        float(np.sum(slopes**2)),
        float(piece.curvature(0.0 if piece.smooth else 1.0)),
        piece.smooth,
        trivial_bound(part.problem),
    )


def begin(part: Partition, X: Host, span: Span, delta: float) -> tuple[Host, Host]:
    """Residuals of points X (k, n), and what they send to some columns, (k, width)."""
    Z = to_numpy(part.compiled.residual(X.astype(part.compiled.like.dtype)))
    return Z, gradient(part, Z, span, delta)


def move(
    part: Partition, before: tuple[Host, Host], moved: Span, by: Host, span: Span, delta: float
) -> tuple[Host, Host]:
    """The same after some columns have moved by `by` (k, width)."""
    Z = before[0]
    for piece in part.compiled.pieces:
        Z = Z + to_numpy(piece.operator.columns(*moved).apply(by.astype(Z.dtype)))
    return Z, gradient(part, Z, span, delta)


def gradient(part: Partition, Z: Host, span: Span, delta: float) -> Host:
    compiled = part.compiled
    G = np.zeros((len(Z), span.hi - span.lo))
    Y = compiled.slopes(Z, delta)
    for piece in compiled.pieces:
        G += to_numpy(piece.operator.columns(*span).adjoint(Y))
    return compiled.value_scale * G


def sent(pair: tuple[Host, Host]) -> Host:
    """What goes back of a residual and what it sends to some columns."""
    return pair[1]


def judge(part: Partition, X: Host) -> Host:
    """The objective of these rows at points X (k, n) of the domain, in float64."""
    return np.atleast_1d(part.problem.objective(X))


def begin_flips(part: Partition, x: Host, span: Span) -> tuple[Host, Host]:
    """Residuals at spins x (n,), and what a flip of each of some columns would change, (width,)."""
    Z = to_numpy(part.compiled.residual(x[None].astype(part.compiled.like.dtype)))
    return Z, gains(part, Z, x, span)


def flip(part: Partition, before: tuple[Host, Host], flips: Host, x: Host, span: Span) -> tuple[Host, Host]:
    """The same after some variables have been flipped to what they are in x."""
    Z = before[0]
    for j in flips:
        Z = Z + _turn(part, Z, j, 2.0 * x[j])
    return Z, gains(part, Z, x, span)


def prefixes(part: Partition, before: tuple[Host, Host], flips: Host, x: Host) -> Host:
    """What flips of the first 1, 2, ... of some variables would change together, from spins x."""
    Z, pieces = before[0], part.compiled.pieces
    here, changes = sum(float(piece.values(Z[0])) for piece in pieces), np.zeros(len(flips))
    for k, j in enumerate(flips):
        Z = Z + _turn(part, Z, j, -2.0 * x[j])
        changes[k] = sum(float(piece.values(Z[0])) for piece in pieces) - here
    return part.compiled.value_scale * changes


def _turn(part: Partition, Z: Host, j: int, by: float) -> Host:
    """By how much residuals move when a variable does."""
    moved = np.zeros_like(Z)
    for piece in part.compiled.pieces:
        moved += to_numpy(piece.operator.columns(j, j + 1).apply(np.asarray([[by]], Z.dtype)))
    return moved


def gains(part: Partition, Z: Host, x: Host, span: Span) -> Host:
    compiled = part.compiled
    changes = np.zeros(span.hi - span.lo)
    width = max(1, GAIN_ENTRIES // max(1, Z.shape[-1]))
    for piece in compiled.pieces:
        here = float(piece.values(Z[0]))
        for lo in range(span.lo, span.hi, width):
            hi = min(span.hi, lo + width)
            turns = np.diag(-2.0 * x[lo:hi]).astype(Z.dtype)
            values = piece.values(Z + to_numpy(piece.operator.columns(lo, hi).apply(turns)))
            changes[lo - span.lo : hi - span.lo] += np.asarray(values, np.float64) - here
    return compiled.value_scale * changes
