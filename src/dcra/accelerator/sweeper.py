"""Tensor-core sweeps over the box, for all replicas at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.accelerator import loader
from dcra.accelerator.device import library
from dcra.accelerator.form import LARGEST_SUM, Form, power_of_two
from dcra.accelerator.shape import SweepShape
from dcra.engines.base import Starts
from dcra.engines.rule import Rule

RULE = Rule(kappa=0.6, momentum=0.6, shape=0.3, power=0.35, least=0.5)
"""The rule of the sweeps; more momentum than on the CPU, where annealing does not follow each of them."""

WIDE, WIDE_POWER = 1.2, 0.25
"""Where there are this many times more columns than rows, x goes to the corners sooner."""

STABLE = 3.0
"""Of 2 (1 + momentum) = 3.2, at which a step of heavy-ball momentum along the steepest direction diverges."""

SPREAD = 0.1
ORDERS = 64
LARGEST_HALF, LARGEST_GRADIENT = 60000.0, 30000.0


def rule_for(n: int, rows: int) -> Rule:
    return RULE._replace(power=WIDE_POWER) if n > WIDE * rows else RULE


class Sweeper:
    """Points and last moves (replicas, columns), residuals and penalties of all replicas."""

    def __init__(self, form: Form, shape: SweepShape, number: int, replicas: int) -> None:
        cupy = library()
        self.form, self.shape, self.count = form, shape, replicas
        self.rule = rule_for(form.n, form.n_rows)
        self.steps = -(-form.n // shape.width)
        self.width = self.steps * shape.width
        self.kernel = loader.load(kernel_of(shape), number)
        self.scatter = loader.load(SCATTER, number)
        self.signs_of = loader.load(SIGNS, number)
        rng = np.random.default_rng(1)
        order = np.concatenate([rng.permutation(self.steps) for _ in range(ORDERS)])
        self.order = cupy.asarray(np.concatenate([order, order[:4]]).astype(np.int32))
        self.names = cupy.asarray(form.names.astype(np.int32))
        self.X = cupy.empty((replicas, self.width), np.float32)
        self.V = cupy.empty_like(self.X)
        self.Z = cupy.zeros((replicas, shape.rows), np.float32)
        self.rho = cupy.empty(replicas, np.float32)
        self.table = cupy.zeros(4, np.uint32)
        self.slope = 1.0
        if form.plain:
            self._lay_out(None)

    def smooth(self, delta: float) -> None:
        """Set the smoothing of sum |z|, in the form's units."""
        self.slope = float(np.clip(1 / delta, 1e-4, 3e4)) if delta > 0 else 3e4
        self._curve(self.slope, 2.0)

    def smooth_rows(self, added: Host) -> None:
        """Set what smoothing adds to k in each row, where losses are tables: rows get curvature 1."""
        cupy, rows = library(), self.form.rows
        bend = 1 / np.maximum(rows.k + added, 1e-30)
        bend[(rows.lo == 0) & (rows.hi == 0)] = 0.0
        root = np.sqrt(bend)
        tau = self._moderation(root)
        factor = tau * root
        self._lay_out(factor)
        self.unit, self.linear_unit = factor, tau**2
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [np.where(factor > 0, tau**2 * end / factor, 0.0) for end in (rows.lo, rows.hi)]
        numbers = np.zeros((self.shape.rows, 4))
        numbers[: self.form.n_rows] = np.stack([rows.e * factor, *ends, -rows.e * factor], axis=1)
        halves = np.clip(numbers, -LARGEST_HALF, LARGEST_HALF).astype(np.float16)
        pairs = np.ascontiguousarray(halves.reshape(-1, 2, 4).transpose(0, 2, 1))
        self.table = cupy.asarray(pairs.view(np.uint32))
        self._curve(1.0, 1.0)

    def _moderation(self, root: Host) -> float:
        """A factor for rows already scaled by `root`, so that no sum over rows leaves the range of halves."""
        cupy, rows, form = library(), self.form.rows, self.form
        sizes, own_b = abs(form.columns[: form.n, : form.n_rows]), cupy.asnumpy(form.b[: form.n_rows])
        reach = root * (cupy.asnumpy(sizes.sum(axis=0)).astype(np.float64) + np.abs(own_b))
        with np.errstate(divide="ignore", invalid="ignore"):
            steepest = np.where(root > 0, np.maximum(np.abs(rows.lo), np.abs(rows.hi)) / root, 0.0)
        slopes = np.minimum(reach, steepest)
        weighed = sizes @ cupy.asarray(np.stack([root, root * slopes], axis=1), np.float32)
        most, most_sum = (float(size) for size in cupy.asnumpy(weighed.max(axis=0)))
        return 1 / max(power_of_two(most / LARGEST_SUM), power_of_two(np.sqrt(most_sum / LARGEST_GRADIENT)))

    def _lay_out(self, factor: Host | None) -> None:
        """Tiles of halves (steps, row tiles, column tiles, 8, 8), and the squared norms of their columns."""
        cupy, form, shape = library(), self.form, self.shape
        halves = cupy.zeros((shape.rows, self.width), np.float16)
        inner = form.columns[: form.n, : form.n_rows].T
        halves[: form.n_rows, : form.n] = inner if factor is None else inner * _column(factor)
        split = halves.reshape(shape.rows // 8, 8, self.steps, 2 * shape.M, 8)
        self.tiles = cupy.ascontiguousarray(split.transpose(2, 0, 3, 1, 4))
        full = halves.astype(np.float32)
        self.sums = full.sum(axis=0)
        self.norms = cupy.square(full).sum(axis=0)
        self.mean_norm = float(self.norms[: form.n].mean()) or 1.0
        self.unit, self.linear_unit = None, 1.0
        self.crowding = self._crowding(full)

    def _crowding(self, full: Any) -> Any:
        """For each step the largest eigenvalue of its columns' Gram matrix, for columns of unit norm."""
        cupy, C = library(), self.shape.width
        unit = full / cupy.sqrt(cupy.maximum(self.norms, 1e-30))
        blocks = unit.reshape(-1, self.steps, C).transpose(1, 2, 0)
        gram = (blocks @ blocks.transpose(0, 2, 1)).astype(np.float64)
        for _ in range(5):
            gram = gram @ gram
        return cupy.repeat(cupy.trace(gram, axis1=1, axis2=2) ** (1 / 32), C)

    def _curve(self, slope: float, gain: float) -> None:
        """Steps and constant slopes of all columns, for a loss of this curvature in z."""
        cupy, n = library(), self.form.n
        kappa = cupy.maximum(self.rule.kappa, self.crowding / STABLE)
        bent = slope * cupy.maximum(self.norms, 1e-6 * self.mean_norm)
        self.inverse = (1 / (kappa * bent)).astype(np.float32)
        self.inverse[n:] = 0
        self.pull = (-self.sums if gain == 2 else cupy.zeros_like(self.sums)).astype(np.float32)
        self.pull[:n] += self.form.linear[:n] * np.float32(self.linear_unit)
        self.first_rho = slope * self.mean_norm / 64

    def begin(self, starts: Starts) -> None:
        """Put replicas at the starts: given points, shrunk, or random ones."""
        cupy, form = library(), self.form
        seed = np.uint32(starts.seed & 0xFFFFFFFF)
        salt = np.uint32((starts.seed >> 32) & 0xFFFFFFFF)
        sizes = (np.int32(form.n), np.int32(self.width), np.int32(self.count))
        last = (seed, salt, np.int32(starts.first), np.float32(SPREAD))
        self.scatter((1024,), (256,), (self.X, self.V, self.names, *sizes, *last))
        if starts.points is not None:
            given = (SPREAD * starts.points[: self.count, form.names]).astype(np.float32)
            self.X[: len(given), : form.n] = cupy.rint(cupy.asarray(given) * 1024) / 1024
        Z = form.residual(self.X)[:, : form.n_rows]
        self.Z[:, : form.n_rows] = Z if self.unit is None else Z * cupy.asarray(self.unit, np.float32)
        self.rho[:] = self.first_rho

    def sweep(self, first: int, last: int, total: int) -> None:
        """Sweeps first, ..., last - 1 of a schedule of `total`."""
        rule = self.rule
        arrays = (
            self.tiles,
            self.Z,
            self.X,
            self.V,
            self.rho,
            self.inverse,
            self.pull,
            self.table,
            self.order,
        )
        counts = map(np.int32, (self.steps, self.form.n, first, last, total))
        least = rule.least * self.first_rho
        numbers = map(np.float32, (self.slope, rule.momentum, rule.shape, rule.power, least))
        grid = (self.count // self.shape.width * self.shape.PARTS,)
        self.kernel(
            grid, (self.shape.threads,), (*arrays, *counts, *numbers), shared_mem=self.shape.shared_bytes
        )

    def signs(self) -> Any:
        """Where the replicas stand, as signs (replicas, 4 quads)."""
        cupy, quads = library(), self.form.quads
        S = cupy.empty((self.count, 4 * quads), np.int8)
        sizes = map(np.int32, (self.form.n, self.width, quads, self.count))
        self.signs_of((1024,), (256,), (self.X, S, *sizes))
        return S


def kernel_of(shape: SweepShape) -> loader.Kernel:
    return loader.kernel("sweep", "sweep", shape, shape.shared_bytes)


SCATTER, SIGNS = loader.kernel("points", "scatter"), loader.kernel("points", "signs")


def _column(factor: Host) -> Any:
    return library().asarray(factor.astype(np.float32))[:, None]
