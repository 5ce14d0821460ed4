"""A loss under test, and the residuals it is tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Array, Host, from_numpy, is_numpy, namespace, to_numpy
from dcra.losses import Loss

STEPS = (0.1, 1.0, 7.0)
"""Steps at which proximal maps are checked."""


@dataclass(frozen=True)
class Subject:
    """A loss seen from the host: its methods take and return float64 NumPy arrays."""

    loss: Loss
    z: Host
    """Residuals to try, (k, rows): several sizes, zeros and the kinks of common losses."""
    rtol: float
    like: Array
    seed: int

    @property
    def eps(self) -> float:
        return float(namespace(self.like).finfo(self.like.dtype).eps)

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed + 1)

    def to(self, z: Host) -> Array:
        """`z` in the library, float type and writeability of `like`."""
        array = from_numpy(np.array(z), self.like)
        if is_numpy(array):
            array.flags.writeable = self.like.flags.writeable
        return array

    def round(self, z: Host) -> Host:
        return host(self.to(z))

    def value(self, z: Host) -> Host:
        return host(self.loss.value(self.to(z)))

    def values(self, z: Host) -> Host:
        return host(self.loss.values(self.to(z)))

    def prox(self, z: Host, step: float | Host) -> Host:
        return host(self.loss.prox(self.to(z), self._step(step)))

    def slope(self, z: Host, step: float) -> Host:
        return host(self.loss.envelope_grad(self.to(z), step))

    def envelope(self, z: Host, step: float) -> Host:
        return host(self.loss.envelope(self.to(z), step))

    def prox_objective(self, y: Host, z: Host, step: float) -> Host:
        """f(y) + |z - y|^2 / (2 step), which the proximal map minimises."""
        y = self.round(y)
        apart: Host = np.sum((z - y) ** 2, axis=-1)
        return self.value(y) + apart / (2 * step)

    def _step(self, step: float | Host) -> Array | float:
        return step if isinstance(step, float) else self.to(step)

    def require(self, holds: Any, prop: str, **numbers: Any) -> None:
        """Raise with the first case in which `holds` is false; `numbers` are one per case, or shared."""
        fine = np.atleast_1d(np.asarray(holds, bool))
        if fine.all():
            return
        case = int(np.argmin(fine))
        shown = ", ".join(f"{name} = {_shown(x, case, fine.size)}" for name, x in numbers.items())
        raise AssertionError(f"{type(self.loss).__name__}: {prop} does not hold: {shown}")

    def close(self, got: Host, want: Host, prop: str, **numbers: Any) -> None:
        """Require equality to `rtol`, case by case."""
        got, want = np.broadcast_arrays(np.atleast_1d(got), np.atleast_1d(want))
        with np.errstate(invalid="ignore"):  # inf - inf, where both are infinite
            near = np.isfinite(got) & (np.abs(got - want) <= self.slack(want))
        fine = (near | (got == want)).reshape(len(got), -1).all(axis=-1)
        self.require(fine, prop, got=got, expected=want, **numbers)

    def slack(self, *sizes: Any) -> Any:
        """What rounding may do to a comparison of numbers of these sizes."""
        return self.rtol * (1 + np.sum(np.abs(np.broadcast_arrays(*sizes)), axis=0))


def make_subject(loss: Loss, rows: int, seed: int, rtol: float | None, like: Array | None) -> Subject:
    """Draw the residuals on which a loss is tried."""
    rng = np.random.default_rng(seed)
    like = np.zeros(1) if like is None else like
    sizes = np.array([0.01, 0.3, 1.0, 1.0, 3.0, 30.0])[:, None]
    points = [
        sizes * rng.standard_normal((sizes.size, rows)),
        np.zeros((1, rows)),
        np.ones((1, rows)),
        -np.ones((1, rows)),
        rng.integers(-2, 3, (3, rows)),
        rng.permuted(np.eye(2, rows) * 5 - 1, axis=1),
    ]
    eps = float(namespace(like).finfo(like.dtype).eps)
    z = host(from_numpy(np.concatenate(points), like))
    return Subject(loss, z, eps**0.5 if rtol is None else rtol, like, seed)


def host(x: Array) -> Host:
    return np.array(to_numpy(x), np.float64)


def _shown(x: Any, case: int, n_cases: int) -> str:
    if isinstance(x, np.ndarray) and x.ndim and len(x) == n_cases:
        x = x[case]
    return np.array2string(np.asarray(x), precision=8) if isinstance(x, np.ndarray | np.generic) else str(x)
