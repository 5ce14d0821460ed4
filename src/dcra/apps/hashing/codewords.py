"""Codewords of classes, as far apart as their number allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import hadamard

from dcra._array import Host
from dcra.api import minimize
from dcra.search.interrupts import on_interrupt

SWEEPS = 6
STARTS = 4
TINY = 1e-6
BALANCE = 0.5
"""Weight of |C'1|^2: where no simplex exists, bits that split the classes evenly are worth some distance."""


def separated_codewords(n_classes: int, n_bits: int, seed: int = 0) -> Host:
    """Signs C (n_classes, n_bits) whose rows are nearly a simplex, C_k'C_l about -n_bits/(n_classes - 1).

    No set of more than two words has a larger mean distance; bits then split the classes evenly, and W with
    W C' + w 1' = I has the least norm. Each word in turn solves this library's own problem,

        min_x |C_others x + n_bits/(n_classes - 1)|^2 + 2 beta (C_others'1)'x   over signs x.

    Examples
    --------
    >>> separated_codewords(4, 3) @ separated_codewords(4, 3).T
    array([[ 3., -1., -1., -1.],
           [-1.,  3., -1., -1.],
           [-1., -1.,  3., -1.],
           [-1., -1., -1.,  3.]])
    """
    check_bits(n_classes, n_bits)
    C = np.random.default_rng(seed).choice([-1.0, 1.0], (n_classes, n_bits))
    aim = -n_bits / max(1, n_classes - 1)
    with on_interrupt() as interrupted:
        for sweep in range(SWEEPS):
            before = C.copy()
            for k in range(n_classes):
                if not interrupted:
                    C[k] = _better_word(np.delete(C, k, axis=0), C[k], aim, seed + sweep)
            if np.array_equal(C, before):
                break
    return C


def _better_word(others: Host, word: Host, aim: float, seed: int) -> Host:
    """The word whose products with the others are nearest to `aim`, if it is better than the one there is."""
    b, slope = np.full(len(others), aim), 2 * BALANCE * others.sum(axis=0)
    options: dict[str, Any] = {"method": "sweep", "starts": STARTS, "seed": seed, "n_jobs": 1}
    found = minimize(others, b, "squared", linear=slope, x0=word, **options)
    better = found.fun < np.sum((others @ word - b) ** 2) + slope @ word - TINY
    return np.asarray(found.x) if better else word


def hadamard_codewords(n_classes: int, n_bits: int, seed: int = 0) -> Host:
    """Random rows of a Hadamard matrix but the constant one, cut to n_bits columns."""
    check_bits(n_classes, n_bits)
    rng = np.random.default_rng(seed)
    order = 1 << int(np.ceil(np.log2(max(n_bits, n_classes + 1))))
    H = hadamard(order)
    rows, columns = 1 + rng.permutation(order - 1)[:n_classes], rng.permutation(order)[:n_bits]
    C: Host = H[np.ix_(rows, columns)].astype(np.float64)
    return C


def check_bits(n_classes: int, n_bits: int) -> None:
    if n_classes > 2**n_bits:
        raise ValueError(
            f"`n_bits` must be at least {int(np.ceil(np.log2(n_classes)))} to tell {n_classes} classes "
            f"apart; got {n_bits}"
        )
