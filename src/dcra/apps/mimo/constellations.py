"""Constellations of unit mean energy, as levels of their real and imaginary parts.

A part takes one of q levels -(q-1), ..., -1, 1, ..., q-1 times `scale`. Level l = 0..q-1 counts from below;
its natural-binary digits are the spins of the template, most significant first (level = 2 s1 + s2 for q = 4),
and its Gray code gives the bits that are sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.messages import suggest
from dcra.model.integers import bit_weights, bits_of

Host = NDArray[Any]


@dataclass(frozen=True)
class Constellation:
    """q levels in each of `parts` parts (1: real symbols, 2: complex ones)."""

    name: str
    q: int
    parts: int
    labels: str = "gray"

    @cached_property
    def table(self) -> Host:
        """Bits (q, digits) of the levels, ascending."""
        return gray_table(self.q) if self.labels == "gray" else nr_table(self.q)

    @cached_property
    def scale(self) -> float:
        """Between levels and symbols: 1 / sqrt(mean energy of the levels)."""
        return 1 / sqrt(self.parts * (self.q**2 - 1) / 3)

    @property
    def choices(self) -> Host:
        """All levels of one part, ascending."""
        return np.arange(1.0 - self.q, self.q, 2.0)

    @property
    def digits(self) -> int:
        """Bits, and spins, of one part."""
        return self.q.bit_length() - 1

    @property
    def bits_per_symbol(self) -> int:
        """Bits that each symbol stands for."""
        return self.parts * self.digits

    def symbols(self, levels: Host) -> Host:
        """Complex symbols from levels (..., parts n): real parts first, then imaginary ones."""
        if self.parts == 1:
            return self.scale * levels.astype(np.complex128)
        re, im = np.split(levels, 2, axis=-1)
        return np.asarray(self.scale * (re + 1j * im))

    def levels(self, symbols: Host) -> Host:
        """The nearest levels (..., parts n) of complex numbers (..., n)."""
        parts = (symbols.real,) if self.parts == 1 else (symbols.real, symbols.imag)
        return self.nearest(np.concatenate(parts, axis=-1) / self.scale)

    def nearest(self, values: Host) -> Host:
        """The level nearest to each number."""
        top = self.q - 1
        return np.asarray(np.clip(2 * np.floor(0.5 * (values + top) + 0.5) - top, -top, top))

    def bits(self, levels: Host) -> Host:
        """Bits (..., n, bits per symbol) from levels (..., parts n); Gray: those of the real part first."""
        return self._by_symbol(self.table[self.index(levels)])

    def from_bits(self, bits: Host) -> Host:
        """Levels (..., parts n) from bits (..., n, bits per symbol)."""
        bits = np.asarray(bits)[..., np.argsort(self._order)]
        split = np.concatenate(np.split(bits, self.parts, axis=-1), axis=-2)  # (..., parts n, digits)
        weights = 1 << np.arange(self.digits)[::-1]
        where = np.argsort(self.table @ weights)
        return np.asarray(2.0 * where[split @ weights] - (self.q - 1))

    @property
    def _order(self) -> Host:
        """Where each bit comes from: 3GPP's are those of real and imaginary part in turn."""
        every = np.arange(self.bits_per_symbol)
        return every if self.labels == "gray" else every.reshape(self.parts, -1).T.ravel()

    def index(self, levels: Host) -> Host:
        """0..q-1 from levels."""
        return np.rint(0.5 * (levels + (self.q - 1))).astype(np.int64)

    def spins(self, levels: Host) -> Host:
        """Natural-binary spins (..., parts n digits) of the whole numbers `index`: most significant first."""
        bits = bits_of(self.index(levels).ravel(), self.q - 1)[:, ::-1].reshape(*levels.shape, self.digits)
        return np.where(np.swapaxes(bits, -1, -2) > 0, 1.0, -1.0).reshape(*levels.shape[:-1], -1)

    def from_spins(self, spins: Host) -> Host:
        """Levels from natural-binary spins: sum of 2^k s_k."""
        digits = spins.reshape(*spins.shape[:-1], self.digits, -1)
        return np.asarray(np.einsum("...dn,d->...n", digits, self.digit_weights))

    @property
    def digit_weights(self) -> Host:
        """2^(digits-1), ..., 2, 1."""
        return np.ascontiguousarray(bit_weights(self.q - 1)[::-1])

    def llrs(self, probabilities: Host) -> Host:
        """log P(bit = 0) - log P(bit = 1) of the bits, from probabilities (..., parts n, q)."""
        one = self.table.astype(bool)  # (q, digits)
        tiny = np.finfo(np.float64).tiny
        up, down = probabilities @ one, probabilities @ ~one
        return self._by_symbol(np.log(np.maximum(down, tiny)) - np.log(np.maximum(up, tiny)))

    def _by_symbol(self, x: Host) -> Host:
        """(..., parts n, digits) -> (..., n, parts digits)."""
        return np.concatenate(np.split(x, self.parts, axis=-2), axis=-1)[..., self._order]


CONSTELLATIONS = {
    "bpsk": Constellation("bpsk", 2, 1),
    "qpsk": Constellation("qpsk", 2, 2),
    "16qam": Constellation("16qam", 4, 2),
    "64qam": Constellation("64qam", 8, 2),
    "256qam": Constellation("256qam", 16, 2),
}

GRIDS = ", ".join(CONSTELLATIONS)
PHASES = "8psk"
"""The one that has a name and is no grid."""

LABELS = ("gray", "3gpp")


def constellation_of(name: str | Constellation, labels: str | None = None) -> Constellation:
    """A grid by name; `labels` says which bits its points have."""
    labels = labels.lower() if isinstance(labels, str) else labels
    if labels is not None and labels not in LABELS:
        raise ValueError(suggest("labels", labels, LABELS))
    if isinstance(name, Constellation):
        return name if labels is None else replace(name, labels=labels)
    if not isinstance(name, str):
        raise TypeError(f"`constellation` must be a grid here, one of {GRIDS}; got {type(name).__name__}")
    key = plain(name)
    if key == PHASES:
        raise ValueError(f"`constellation` must be a grid here, one of {GRIDS}; {PHASES} is none")
    if key not in CONSTELLATIONS:
        raise ValueError(suggest("constellation", name, [*CONSTELLATIONS, PHASES]))
    return replace(CONSTELLATIONS[key], labels=labels or "gray")


def plain(name: Any) -> str:
    """The name of a constellation as we write it: in any case, with or without a hyphen, or another one."""
    if not isinstance(name, str):
        what = type(name).__name__
        raise TypeError(f"`constellation` must be a name, such as {GRIDS}, or a `mimo.alphabet`; got {what}")
    key = name.lower().replace("-", "").replace(" ", "").replace("_", "")
    return {"4qam": "qpsk", "4psk": "qpsk", "2psk": "bpsk"}.get(key, key)


def gray_table(q: int) -> Host:
    """Bits (q, digits) of the levels: neighbours differ in one."""
    l = np.arange(q)
    return ((l ^ l >> 1)[:, None] >> np.arange(q.bit_length() - 1)[::-1]) & 1


def nr_table(q: int) -> Host:
    """Bits (q, digits) of the levels as in 3GPP TS 38.211: (1 - 2 b0) [4 - (1 - 2 b1) [2 - (1 - 2 b2)]]."""
    digits = q.bit_length() - 1
    bits = (np.arange(q)[:, None] >> np.arange(digits)[::-1]) & 1
    level = 1.0 - 2 * bits[:, -1]
    for k in range(digits - 2, -1, -1):
        level = (1 - 2 * bits[:, k]) * (2.0 ** (digits - 1 - k) - level)
    return bits[np.argsort(level)]
