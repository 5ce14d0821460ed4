"""Codes to start from."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.hashing.blocks import BLOCK, SampleRows, ordered, ranges
from dcra.apps.hashing.codewords import separated_codewords
from dcra.apps.hashing.features import MAP_ROWS
from dcra.apps.hashing.ridge import signs
from dcra.apps.hashing.targets import Targets, TargetTable


def random_codes(n: int, n_bits: int, seed: int) -> Host:
    """Random signs (n, n_bits)."""
    rng = np.random.default_rng(seed)
    codes = np.empty((n, n_bits), np.int8)
    for lo, hi in ranges(n, BLOCK):
        codes[lo:hi] = 2 * rng.integers(0, 2, (hi - lo, n_bits), np.int8) - 1
    return codes


def random_coefficients(d: int, n_bits: int, intercept: bool, seed: int) -> Host:
    """A random W (d, n_bits) whose sums over signs have variance 1, and an intercept of zero."""
    W = np.random.default_rng((seed, d)).normal(size=(d, n_bits)) / np.sqrt(n_bits)
    return np.concatenate([W, np.zeros((d, int(intercept)))], axis=1)


def separated_codes(targets: Targets, n_bits: int, seed: int, n_jobs: int) -> Host:
    """Codes that are as far apart as the targets are: of their class, of their labels, of their features."""
    if isinstance(targets, TargetTable):
        return label_codes(targets, n_bits, seed)[targets.index]
    return feature_codes(targets, n_bits, seed, n_jobs)


def label_codes(table: TargetTable, n_bits: int, seed: int) -> Host:
    """A code for each row of the table: of a class its word, else the row, turned at random."""
    if table.one_hot:
        return signs(separated_codewords(table.d, n_bits, seed))
    return signs(table.values @ random_turn(table.d, n_bits, np.random.default_rng(seed)))


def feature_codes(rows: SampleRows, n_bits: int, seed: int, n_jobs: int) -> Host:
    """Signs of principal components, turned at random: r bits of r directions (or as many as there are)."""
    rng = np.random.default_rng(seed)
    sample = rows.sample(rng.permutation(rows.n)[:MAP_ROWS]).astype(np.float64)
    mean = sample.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov(sample, rowvar=False).reshape(rows.d, rows.d))
    kept = directions[:, ::-1][:, :n_bits]
    V = kept @ random_turn(kept.shape[1], n_bits, rng)
    return np.concatenate(
        list(ordered(lambda lo, hi: signs((rows.read(lo, hi) - mean) @ V), ranges(rows.n), n_jobs))
    )


def random_turn(d: int, n_bits: int, rng: np.random.Generator) -> Host:
    """A random matrix (d, n_bits) whose rows, or columns where they are fewer, are orthonormal."""
    Q, _ = np.linalg.qr(rng.normal(size=(max(d, n_bits), min(d, n_bits))))
    return Q.T if d < n_bits else Q
