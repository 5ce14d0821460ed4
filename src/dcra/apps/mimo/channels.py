"""Channels, noise and frames to try detectors on. SNR = E|Hs|^2 / E|n|^2 per receiving antenna."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.alphabets import Alphabet, kind_of
from dcra.apps.mimo.constellations import Constellation

Host = NDArray[Any]

SHARE, FACTOR = 0.1, 100.0
"""Of impulsive noise: how often an entry is hit, and how much stronger its variance is then."""

IMPULSE_GAIN = (1 - SHARE + SHARE * FACTOR) * (1 - SHARE + SHARE / FACTOR)
"""What knowing the impulses is worth, as a factor on the SNR: mean variance times mean 1 / variance."""


class Frames(NamedTuple):
    """y = H s + n for k frames: what was sent, and what was received.

    Attributes
    ----------
    H : (n_receive, n_send) complex array
    y : (n_receive, k) complex array
    symbols : (n_send, k) complex array
    levels : (k, parts n_send) array
        The symbols in real numbers: levels of their real parts, then of their imaginary ones. Of points that
        are no grid, which they are (k, n_send).
    noise : float
        The variance E|n_i|^2.
    bits : (n_send, k, bits per symbol) array of 0 and 1
        The bits of the symbols, in the order of `Detection.bits`.
    """

    H: Host
    y: Host
    symbols: Host
    levels: Host
    noise: float
    bits: Host


def iid_channel(n_receive: int, n_send: int, rng: np.random.Generator) -> Host:
    """Entries N(0, 1) + i N(0, 1), all independent."""
    return _gaussian(rng, (n_receive, n_send))


def correlated_channel(n_receive: int, n_send: int, rho: float, rng: np.random.Generator) -> Host:
    """Kronecker model R^(1/2) G T^(1/2), R and T with entries rho^|i-j|, G as in `iid_channel`."""
    if not -1 < rho < 1:
        raise ValueError(f"`rho` must lie between -1 and 1; got {rho}")
    left, right = _root(n_receive, rho), _root(n_send, rho)
    return np.asarray(left @ _gaussian(rng, (n_receive, n_send)) @ right)


def noise_variance(H: Host, snr_db: float) -> float:
    """E|n_i|^2 for symbols of unit energy: the mean power of Hs per antenna over the SNR."""
    return float(np.sum(np.abs(H) ** 2) / H.shape[0] * 10 ** (-snr_db / 10))


def gaussian_noise(shape: tuple[int, ...], variance: float, rng: np.random.Generator) -> Host:
    """Complex noise with E|n_i|^2 = variance."""
    return np.asarray(np.sqrt(variance / 2) * _gaussian(rng, shape))


def impulsive_noise(
    shape: tuple[int, ...],
    variance: float,
    rng: np.random.Generator,
    share: float = SHARE,
    factor: float = FACTOR,
) -> Host:
    """Gaussian noise whose entries are, with probability `share`, `factor` times as strong.

    The mean variance over both kinds is `variance`.
    """
    background = variance / (1 - share + share * factor)
    strong = rng.random(shape) < share
    return np.where(strong, np.sqrt(factor), 1.0) * gaussian_noise(shape, background, rng)


def transmit(
    H: Host,
    snr_db: float,
    constellation: str | Constellation | Alphabet = "qpsk",
    *,
    frames: int = 1,
    impulsive: bool = False,
    rng: np.random.Generator,
    noise: float | None = None,
    labels: str | None = None,
) -> Frames:
    """Random symbols through a channel; `noise` replaces the variance that the SNR gives.

    `constellation` and `labels` are those of `detect`.
    """
    kind = kind_of(constellation, labels)
    levels, symbols, bits, energy = _sent(kind, frames, H.shape[1], rng)
    variance = energy * noise_variance(H, snr_db) if noise is None else noise
    draw = impulsive_noise if impulsive else gaussian_noise
    y = H @ symbols.T + draw((H.shape[0], frames), variance, rng)
    return Frames(H, y, symbols.T, levels, variance, np.moveaxis(bits, 0, 1))


def _sent(
    kind: Constellation | Alphabet, frames: int, n: int, rng: np.random.Generator
) -> tuple[Host, Host, Host, float]:
    """Random levels, or which points, of frames; their symbols, bits and mean energy."""
    if isinstance(kind, Alphabet):
        index = rng.integers(kind.q, size=(frames, n))
        return index, kind.points[index], kind.table[index], kind.energy
    levels = 2.0 * rng.integers(kind.q, size=(frames, kind.parts * n)) - (kind.q - 1)
    return levels, kind.symbols(levels), kind.bits(levels), 1.0


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Host:
    return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def _root(n: int, rho: float) -> Host:
    """The symmetric square root of the matrix with entries rho^|i-j|."""
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    values, vectors = np.linalg.eigh(rho ** distance.astype(float))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
