"""Other ways to codes, written from their formulas, with the same features and linear hash function."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve

from dcra._array import Host
from dcra.apps.hashing.codewords import hadamard_codewords
from dcra.apps.hashing.features import Features
from dcra.apps.hashing.linear_hash import LinearHash
from dcra.apps.hashing.ridge import Ridge, signs
from dcra.apps.hashing.starts import random_codes
from dcra.apps.hashing.targets import TargetTable
from dcra.search.interrupts import on_interrupt

BIT_PASSES = 10


class Peer(LinearHash):
    """Parameters that all peers share.

    Parameters
    ----------
    n_bits, feature_map, n_anchors, sigma, ridge, random_state, n_jobs
        As in `SupervisedHashing`.
    """

    def __init__(
        self,
        n_bits: int = 32,
        *,
        feature_map: Any = "rbf",
        n_anchors: int = 1000,
        sigma: float = 0.4,
        ridge: float = 1e-2,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.feature_map = feature_map
        self.n_anchors = n_anchors
        self.sigma = sigma
        self.ridge = ridge
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _finish(self, features: Features, codes: Host) -> None:
        """The hash function that is regressed on codes."""
        gram, cross = features.statistics(codes)
        self.codes_, self.projection_ = codes, Ridge(gram, self.ridge).solve(cross)


class Alternating(Peer):
    """Rounds of a code update with the hash function's values in it, from random codes."""

    n_rounds = 5
    weight = 1.0
    """lambda, of |W|^2."""
    nu = 1e-5

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        assert table is not None
        n = features.rows.n
        B = random_codes(n, self.n_bits, seed)
        gram, cross = features.statistics(B)
        ridge = Ridge(gram, self.ridge)
        P = ridge.solve(cross)
        with on_interrupt() as interrupted:
            for _ in range(self.n_rounds):
                new = self._codes(table, B, features.project(P, 0, n))
                same, B = np.array_equal(new, B), new
                P = ridge.solve(features.cross(B))
                if same or interrupted:
                    break
        self.codes_, self.projection_ = B, P

    def _codes(self, table: TargetTable, B: Host, F: Host) -> Host:
        raise NotImplementedError


class FSDH(Alternating):
    """Fast supervised discrete hashing: min |B - Y W|^2 + lambda |W|^2 + nu |B - F|^2 has a closed form in B.

    F are the values of the hash function; lambda = 1, nu = 1e-5, five rounds.
    """

    def _codes(self, table: TargetTable, B: Host, F: Host) -> Host:
        counts = np.bincount(table.index, minlength=len(table.values))
        inner = (table.values * counts[:, None]).T @ table.values + self.weight * np.eye(table.d)
        W = solve(inner, table.values.T @ sums_by(table, B), assume_a="pos")
        return signs((table.values @ W)[table.index] + self.nu * F)


class SDH(Alternating):
    """Supervised discrete hashing: min |Y - B W|^2 + lambda |W|^2 + nu |B - F|^2, B one bit at a time.

    F are the values of the hash function; lambda = 1, nu = 1e-5, five rounds.
    """

    def _codes(self, table: TargetTable, B: Host, F: Host) -> Host:
        wide = B.astype(np.float64)
        inner = wide.T @ wide + self.weight * np.eye(self.n_bits)
        W = solve(inner, sums_by(table, B).T @ table.values, assume_a="pos")
        Q = (table.values @ W.T)[table.index] + self.nu * F
        quadratic = W @ W.T
        for _ in range(BIT_PASSES):
            before = wide.copy()
            for bit in range(self.n_bits):
                others = wide @ quadratic[:, bit] - wide[:, bit] * quadratic[bit, bit]
                wide[:, bit] = np.where(Q[:, bit] >= others, 1.0, -1.0)
            if np.array_equal(before, wide):
                break
        return wide.astype(np.int8)


class ClassCodewords(Peer):
    """Nothing learned: random rows of a Hadamard matrix, one per class; for several labels their majority."""

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        assert table is not None
        words = hadamard_codewords(table.d, self.n_bits, seed)
        self._finish(features, signs(table.values @ words)[table.index])


class ITQ(Peer):
    """Iterative quantisation: the rotation of principal components that is nearest to signs; no labels."""

    n_rounds = 50

    def _needs_labels(self) -> bool:
        return False

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        Phi = features.project(np.eye(features.m), 0, features.rows.n)
        mean = Phi.mean(axis=0)
        centred = Phi - mean
        _, directions = np.linalg.eigh(centred.T @ centred)
        kept = directions[:, ::-1][:, : self.n_bits]
        values = centred @ kept
        rng = np.random.default_rng(seed)
        turn, _ = np.linalg.qr(rng.normal(size=(self.n_bits, kept.shape[1])))
        with on_interrupt() as interrupted:
            for _ in range(self.n_rounds):
                codes = signs(values @ turn.T).astype(np.float64)
                left, _, right = np.linalg.svd(codes.T @ values, full_matrices=False)
                turn = left @ right
                if interrupted:
                    break
        self.codes_ = signs(values @ turn.T)
        self.projection_ = kept @ turn.T
        self.projection_[-1] -= mean @ self.projection_  # the last feature is constant


class LSH(Peer):
    """Signs of random projections of the centred samples; no labels."""

    def _needs_labels(self) -> bool:
        return False

    def _learn(self, features: Features, table: TargetTable | None, seed: int) -> None:
        n = features.rows.n
        mean = features.cross(np.ones((n, 1)))[:, 0] / n
        self.projection_ = np.random.default_rng(seed).normal(size=(features.m, self.n_bits))
        self.projection_[-1] -= mean @ self.projection_
        self.codes_ = signs(features.project(self.projection_, 0, n))


def sums_by(table: TargetTable, B: Host) -> Host:
    """For each row of the table, the sum (m, r) of the codes of its samples."""
    out = np.zeros((len(table.values), B.shape[1]))
    order = np.argsort(table.index, kind="stable")
    edges = np.searchsorted(table.index[order], np.arange(len(table.values)))
    np.add.reduceat(B[order].astype(np.float64), edges, axis=0, out=out)
    return out
