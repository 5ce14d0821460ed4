"""Codes of signs, packed eight to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.model.checks import refuse_masked

WORD = 8
"""Bytes that are compared at a time."""


def pack(signs: Host, name: str = "signs") -> Host:
    """Signs (n, r) in {-1,1} as bytes (n, ceil(r/8)): a set bit is +1, the bits of a last byte may be unused.

    Examples
    --------
    >>> pack(np.array([[1, -1, 1], [-1, -1, 1]]))
    array([[160],
           [ 32]], dtype=uint8)
    """
    refuse_masked(name, signs)
    signs = np.asarray(signs)
    if signs.ndim != 2:
        raise ValueError(f"`{name}` must have shape (n, r); got {signs.shape}")
    up = signs == 1
    others = ~(up | (signs == -1))
    if np.any(others):
        hint = ". Of bits, `2 * bits - 1` are the signs" if np.all(up | (signs == 0)) else ""
        raise ValueError(f"`{name}` must hold only -1 and 1; found {signs[others][0]}{hint}")
    return np.packbits(up, axis=1)


def unpack(packed: Host, n_bits: int) -> Host:
    """The signs (n, n_bits), as int8, that `pack` was given."""
    packed = check_packed("packed", packed)
    if isinstance(n_bits, bool) or not isinstance(n_bits, int | np.integer):
        raise TypeError(f"`n_bits` must be an integer; got {n_bits!r}")
    if not 0 < n_bits <= 8 * packed.shape[1]:
        raise ValueError(
            f"`n_bits` must lie in 1..{8 * packed.shape[1]} for codes of {packed.shape[1]} bytes; "
            f"got {n_bits}"
        )
    bits = np.unpackbits(packed, axis=1, count=n_bits).astype(np.int8)
    return 2 * bits - 1


def hamming_distances(queries: Host, database: Host) -> Host:
    """How many bits differ between codes, signs (q, r) and (n, r) or packed: (q, n) of uint8, or uint16."""
    queries, database = check_both(queries, database)
    left, right = words(queries), words(database)
    total = np.zeros((len(left), len(right)), np.uint8 if 8 * queries.shape[1] < 256 else np.uint16)
    for w in range(left.shape[1]):
        column = np.ascontiguousarray(right[:, w])
        for i, word in enumerate(left[:, w]):
            total[i] += np.bitwise_count(column ^ word)
    return total


def check_packed(name: str, codes: Any) -> Host:
    refuse_masked(name, codes)
    packed: Host = np.asarray(codes)
    if packed.ndim != 2 or packed.dtype != np.uint8:
        raise TypeError(
            f"`{name}` must be packed codes, uint8 of shape (n, bytes); got {packed.dtype} of shape "
            f"{packed.shape}. Did you forget `pack`?"
        )
    return packed


def as_packed(name: str, codes: Any) -> Host:
    """Codes in packed form, be they packed already, uint8 (n, bytes), or signs (n, r)."""
    refuse_masked(name, codes)
    array: Host = np.asarray(codes)
    return check_packed(name, array) if array.dtype == np.uint8 else pack(array, name)


def check_both(queries: Any, database: Any) -> tuple[Host, Host]:
    """Packed codes that can be compared, or an error."""
    widths = [np.shape(codes)[-1] for codes in (queries, database) if _are_signs(codes)]
    if len(set(widths)) > 1:
        raise ValueError(
            f"`queries` and `database` must have codes of one length; got {widths[0]} and {widths[1]} bits"
        )
    left, right = as_packed("queries", queries), as_packed("database", database)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"`queries` and `database` must have codes of one length; "
            f"got {left.shape[1]} and {right.shape[1]} bytes"
        )
    return left, right


def _are_signs(codes: Any) -> bool:
    """Whether codes are signs (n, r), which say how many bits they have."""
    array: Host = np.asarray(codes)
    return array.ndim == 2 and array.dtype != np.uint8


def words(packed: Host) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The same bytes as 64-bit words, filled up with zeros."""
    n, width = packed.shape
    whole = np.zeros((n, -(-width // WORD) * WORD), np.uint8)
    whole[:, :width] = packed
    return whole.view(np.uint64)
