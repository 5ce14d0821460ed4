"""Spins that are known to be equal, or opposite, become one: what that makes of matrices and of triangles."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.exact.triangle_bound import Proved, Warm
from dcra.model.definite import positive_definite

PUT_IN = 0.999
"""Share of a gain that is claimed, so that the matrix which proves it stays positive definite."""

MOST_TRIED = 3
"""Pairs that are tried in vain before no others are."""


class Merge(NamedTuple):
    """z_v = sign_v * (spin number label_v of those that are left); spin 0 stays the first."""

    label: Host  # (p,) int
    sign: Host  # (p,) +-1

    @property
    def left(self) -> int:
        return int(self.label.max()) + 1

    def then(self, later: Merge) -> Merge:
        return Merge(later.label[self.label], self.sign * later.sign[self.label])

    def matrix(self, M: Host) -> tuple[Host, float]:
        """The couplings of the spins that are left, and the constant that is."""
        P = np.zeros((len(M), self.left))
        P[np.arange(len(M)), self.label] = self.sign
        reduced = P.T @ M @ P
        reduced = np.ascontiguousarray(0.5 * (reduced + reduced.T))
        constant = float(np.trace(reduced))
        np.fill_diagonal(reduced, 0.0)
        return reduced, constant

    def diagonal(self, M: Host) -> Host:
        """What each spin that is left has of the constant."""
        own = np.where(self.label[:, None] == self.label, M * np.outer(self.sign, self.sign), 0.0)
        return np.bincount(self.label, own.sum(axis=1), self.left)

    def spread(self, Z: Host) -> Host:
        """All spins (k, p) from those that are left (k, left)."""
        return np.asarray(Z[:, self.label] * self.sign)

    def warm(self, old: Warm) -> Warm:
        """A relaxation of what is left from one of all."""
        first = np.unique(self.label, return_index=True)[1]
        V = np.ascontiguousarray(old.V[first] * self.sign[first, None])
        return Warm(V, *_merged_triangles(self, old.corners, old.prices))


class FixedPair(NamedTuple):
    """z_i = sign z_j; with the other sign points lie `gain` above the bound, at least."""

    i: int
    j: int
    sign: float
    gain: float


def unmerged(p: int) -> Merge:
    return Merge(np.arange(p), np.ones(p))


def merge_of(p: int, pairs: Sequence[tuple[int, int, float] | FixedPair]) -> Merge:
    """What follows from z_i = sign z_j, for all (i, j, sign)."""
    label, sign = np.arange(p), np.ones(p)
    for i, j, s, *_ in pairs:
        a, b = label[i], label[j]
        if a == b:
            continue
        gone, stays = max(a, b), min(a, b)
        turned = s * sign[i] * sign[j]
        sign[label == gone] *= turned
        label[label == gone] = stays
    return Merge(np.unique(label, return_inverse=True)[1], sign)


def _merged_triangles(merge: Merge, corners: Host, prices: Host) -> tuple[Host, Host]:
    """The triangles that are left, the prices of equal ones added up.

    The signs of a triangle are products of signs of its corners; kind 1, 2 or 3 turns the third, second or
    first of these.
    """
    places, kind = corners[:, :3], corners[:, 3]
    turned = merge.sign[places] * np.where(np.arange(3) == 3 - kind[:, None], -1.0, 1.0)
    places = merge.label[places]
    order = np.argsort(places, axis=1, kind="stable")
    places, turned = (np.take_along_axis(part, order, axis=1) for part in (places, turned))
    odd = np.sum(turned < 0, axis=1) >= 2
    turned[odd] *= -1.0  # of two turned corners, and the third
    kind = np.where(np.any(turned < 0, axis=1), 3 - np.argmin(turned, axis=1), 0)
    whole = (places[:, 0] < places[:, 1]) & (places[:, 1] < places[:, 2])
    rows = np.column_stack([places, kind])[whole].astype(np.int32)
    rows, where = np.unique(rows, axis=0, return_inverse=True)
    total = np.zeros(len(rows))
    np.add.at(total, where.ravel(), prices[whole])
    return np.ascontiguousarray(rows), total


def fixed_pairs(proved: Proved, gap: float) -> Generator[int, None, list[FixedPair]]:
    """Pairs with z_i = sign z_j at all points that are less than `gap` above the bound.

    With S the matrix that proves the bound, z'Sz is what a point lies above it. Among all real z with
    z_i = 1 and z_j = -sign the least value is that of the inverse of a 2 by 2 part of the inverse of S.
    Yields its work.
    """
    S, p = proved.S, len(proved.S)
    yield p**3
    with np.errstate(all="ignore"):
        G = np.linalg.inv(S)
        d = np.diag(G)
        determinant = np.outer(d, d) - G * G
        gains = np.stack([(d[:, None] + d + 2 * s * G) / determinant for s in (1.0, -1.0)])
    gains[:, np.tri(p, dtype=bool)] = 0.0
    gains[~np.isfinite(gains)] = 0.0
    needed = (gap + proved.allowance) / PUT_IN
    found: list[FixedPair] = []
    label, vain = np.arange(p), 0
    for at in np.argsort(-gains, axis=None, kind="stable"):
        side, i, j = np.unravel_index(int(at), gains.shape)
        if not gains[side, i, j] > needed or vain >= MOST_TRIED:
            break
        if label[i] == label[j]:
            continue
        sign = 1.0 if side == 0 else -1.0
        yield p**3 // 4
        gain = _gains(proved, G, int(i), int(j), -sign)
        if gain - 2 * proved.allowance >= gap:
            found.append(FixedPair(int(i), int(j), sign, gain))
            label[label == label[j]] = label[i]
        else:
            vain += 1
    return found


def _gains(proved: Proved, G: Host, i: int, j: int, sign: float) -> float:
    """What points with z_i = sign z_j lie above the bound, where S less a part at i and j is definite."""
    part = np.ix_([i, j], [i, j])
    L = PUT_IN * np.linalg.inv(G[part])
    L = 0.5 * (L + L.T)
    rest = proved.S.copy()
    rest[part] -= L
    if not positive_definite(rest):
        return 0.0
    return float(L[0, 0] + L[1, 1] + 2 * sign * L[0, 1])
