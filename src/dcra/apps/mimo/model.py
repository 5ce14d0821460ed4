"""The received frames in real numbers: |y - H s|^2 = |y|^2 - 2 h'u + u'Gu over levels u."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.constellations import Constellation, constellation_of
from dcra.foreign import importing
from dcra.model.checks import refuse_masked

Host = NDArray[Any]

LEAST = 1e-120
"""Least size that the largest number of a channel may have; one over it is the most, also for frames."""

LARGE = 512
"""Beyond this many levels the search runs in float32."""


@dataclass(frozen=True, eq=False)
class Received:
    """Frames y (k, n_receive) through H (n_receive, n_send), and the variance of the noise, if known."""

    H: Host
    y: Host
    constellation: Constellation
    noise: float | None = None

    @property
    def n(self) -> int:
        """Number of levels sought, in each frame."""
        return self.constellation.parts * int(self.H.shape[1])

    @cached_property
    def G(self) -> Host:
        """A'A (n, n) for the real channel A that maps levels to the received parts."""
        return gram(self.H, self.constellation)

    @cached_property
    def h(self) -> Host:
        """A'y (k, n)."""
        c = self.constellation.scale * (self.y @ self.H.conj())
        parts = (c.real,) if self.constellation.parts == 1 else (c.real, c.imag)
        return np.concatenate(parts, axis=-1)

    @cached_property
    def working(self) -> tuple[Host, Host]:
        """G and h in the float type of the search: float32 for large systems."""
        if self.n <= LARGE:
            return self.G, np.ascontiguousarray(self.h)
        return gram(self.H.astype(np.complex64), self.constellation), self.h.astype(np.float32)

    @cached_property
    def real_channel(self) -> Host:
        """A (2 n_receive, n): levels to received parts, real ones above imaginary ones."""
        H = self.constellation.scale * self.H
        left = np.vstack([H.real, H.imag])
        return left if self.constellation.parts == 1 else np.hstack([left, np.vstack([-H.imag, H.real])])

    @cached_property
    def spin_channel(self) -> Host:
        """The template's A: one column per natural-binary spin, all most significant ones first."""
        return np.hstack([w * self.real_channel for w in self.constellation.digit_weights])

    @property
    def real_y(self) -> Host:
        """Received parts (k, 2 n_receive)."""
        return np.concatenate([self.y.real, self.y.imag], axis=-1)

    def objective(self, levels: Host) -> Host:
        """|y - H s|^2 of each frame, in float64, for levels (k, n)."""
        symbols = self.constellation.symbols(levels)
        return np.asarray(np.sum(np.abs(self.y - symbols @ self.H.T) ** 2, axis=-1))

    @cached_property
    def noise_or_guess(self) -> float:
        """The noise variance; where it is not known, what the least-squares fit leaves, with a floor."""
        if self.noise is not None:
            return self.noise
        fit, *_ = np.linalg.lstsq(self.H, self.y.T, rcond=None)
        left = float(np.mean(np.abs(self.y.T - self.H @ fit) ** 2))
        spare = 1 - self.H.shape[1] / self.H.shape[0]
        power = float(np.mean(np.abs(self.y) ** 2))
        column = self.constellation.scale**2 * float(np.sum(np.abs(self.H) ** 2)) / self.H.shape[1]
        least = float(max(np.finfo(float).eps * column, np.finfo(float).tiny))  # for silence
        return max(left / spare if spare > 0.05 else 0.0, 0.05 * power, least)


def gram(H: Host, kind: Constellation) -> Host:
    """The real Gram matrix of a channel, in the precision of H; half of the work of a product."""
    with importing():
        from scipy.linalg.blas import get_blas_funcs

    upper = np.triu(get_blas_funcs("herk", (H,))(kind.scale**2, np.asfortranarray(H), trans=2))
    C = upper + np.triu(upper, 1).conj().T
    if kind.parts == 1:
        return np.ascontiguousarray(C.real)
    return np.block([[C.real, -C.imag], [C.imag, C.real]])


def prepared(H: Any, y: Any, noise: Any) -> tuple[Host, Host, Any, Callable[[Host], Host]]:
    """H and y checked for what concerns several channels and antennas of their own noise.

    Rows are divided by the root of their variance, if there is one for each, which is 1 then. Last comes what
    brings symbols back to single precision, if H and y had that.
    """
    single = all(np.asarray(x).dtype in (np.complex64, np.float32) for x in (H, y))
    H, y = _complex("H", H), _complex("y", y)
    check_channels(H, y)
    refuse_masked("noise", noise)
    if np.ndim(noise) >= 1:
        variance, n_receive = np.asarray(noise), H.shape[-2] if H.ndim > 1 else 0
        if variance.dtype.kind not in "fiu" or variance.shape != (n_receive,):
            raise ValueError(f"`noise` must be a number or have shape ({n_receive},); got {variance.shape}")
        if not np.all((variance > 0) & np.isfinite(variance)):
            raise ValueError("`noise` must hold positive variances")
        root = np.sqrt(variance.astype(float))
        H, y = H / root[:, None], y / (root if y.ndim == 1 else root[:, None])
        noise = 1.0
    return H, y, noise, (lambda s: s.astype(np.complex64)) if single else (lambda s: s)


def check_channels(H: Host, y: Host) -> None:
    """Refuse several channels that are not as many as the frames, and none."""
    if H.ndim == 3 and 0 in H.shape:
        raise ValueError(f"`H` must have shape (k, n_receive, n_send), none of them 0; got {H.shape}")
    if H.ndim == 3 and y.shape != (H.shape[1], H.shape[0]):
        raise ValueError(
            f"`y` must have shape {(H.shape[1], H.shape[0])}, a column for each channel of `H` of shape "
            f"{H.shape}; got {y.shape}"
        )


def received(H: Any, y: Any, constellation: str | Constellation, noise: Any) -> tuple[Received, bool]:
    """Checked input, and whether y was a single frame."""
    kind = constellation_of(constellation)
    H, y = _complex("H", H), _complex("y", y)
    check_frames(H, y)
    single = y.ndim == 1
    return Received(H, np.ascontiguousarray(np.atleast_2d(y.T)), kind, check_variance(noise)), single


def check_frames(H: Host, y: Host) -> None:
    """Refuse shapes that do not fit, and numbers whose squares float64 does not hold."""
    if H.ndim != 2 or 0 in H.shape:
        raise ValueError(f"`H` must have shape (n_receive, n_send), none of them 0; got {H.shape}")
    if y.ndim not in (1, 2) or y.shape[0] != H.shape[0] or 0 in y.shape:
        hint = " Did you mean `y.T`?" if y.ndim == 2 and y.shape[1] == H.shape[0] else ""
        raise ValueError(
            f"`y` must have shape ({H.shape[0]},), or ({H.shape[0]}, k) for k frames, to match `H` of shape "
            f"{H.shape}; got {y.shape}.{hint}"
        )
    for name, x in (("H", H), ("y", y)):
        size = float(max(np.abs(x.real).max(), np.abs(x.imag).max()))
        if size > 1 / LEAST or (name == "H" and 0 < size < LEAST):
            raise ValueError(
                f"`{name}` must hold numbers whose squares float64 can sum, the largest from {LEAST:g} to "
                f"{1 / LEAST:g}; it is {size:.3g}. Multiply `H` and `y` by a common factor, and `noise` by "
                f"its square"
            )


def _complex(name: str, x: Any) -> Host:
    refuse_masked(name, x)
    array = np.asarray(x)
    if array.dtype.kind not in "fiubc":
        raise TypeError(f"`{name}` must hold numbers; got dtype {array.dtype}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"`{name}` must be finite; it holds NaN or infinite entries")
    return array.astype(np.complex128)


def check_variance(noise: Any) -> float | None:
    """The variance of the noise, if it is given."""
    if noise is None:
        return None
    if isinstance(noise, np.ndarray) and noise.ndim == 0:
        noise = noise[()]
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number):
        raise TypeError(f"`noise` must be one number, the variance E|n_i|^2; got {noise!r}")
    if not 0 < noise < np.inf:
        raise ValueError(f"`noise` must be a positive variance; got {noise!r}")
    return float(noise)
