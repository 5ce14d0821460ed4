"""Levels behind a triangular matrix: |y - Hs|^2 = |z - R u|^2 + constant, columns in a good order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcra.apps.mimo.constellations import Constellation
from dcra.apps.mimo.model import Received

Host = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Triangular:
    """R (n, n) upper triangular, targets z of the frames, unknowns of q levels in the order `order`.

    `spins` says that the unknowns are natural-binary spins instead of levels.
    """

    R: Host
    Z: Host
    order: Host
    q: int
    constellation: Constellation
    spins: bool

    @property
    def n(self) -> int:
        return len(self.order)

    def frames(self, which: Host) -> Triangular:
        """Some of the frames."""
        return replace(self, Z=self.Z[which])

    def encode(self, levels: Host) -> Host:
        """Unknowns in search order."""
        unknowns = self.constellation.spins(levels) if self.spins else levels
        return np.ascontiguousarray(unknowns[..., self.order])

    def decode(self, u: Host) -> Host:
        out = np.empty_like(u)
        out[..., self.order] = u
        return self.constellation.from_spins(out) if self.spins else out


def triangular(model: Received) -> Triangular | None:
    """The triangular form of a model, whose loss differs from |y - Hs|^2 by a constant.

    For spins, t |u|^2 is a constant: t = the noise makes the tree search as good as with MMSE. So it is with
    more levels a part, but there t |u|^2 favours small ones, and levels are used as they are; their
    natural-binary spins take their place where there are fewer rows than levels. None where that fails, too.
    """
    kind = model.constellation
    A, Y = model.real_channel, model.real_y
    spins = kind.q > 2 and (A.shape[0] < A.shape[1] or np.linalg.cond(A) > 1e7)
    A = model.spin_channel if spins else A
    if spins or kind.q == 2:
        energy = float(np.mean(np.sum(A**2, axis=0)))  # of a column: more would only drown the channel
        load = np.clip(0.5 * model.noise_or_guess, 1e-2 * energy, energy)
        A = np.vstack([A, np.sqrt(load) * np.eye(A.shape[1])])
        Y = np.hstack([Y, np.zeros((len(Y), A.shape[1]))])
    return _factored(A, Y, kind, spins)


def loaded(model: Received) -> Triangular | None:
    """The triangular form with half the noise over the energy of a level added to the Gram matrix."""
    kind = model.constellation
    A = model.real_channel
    load = np.sqrt(0.5 * model.noise_or_guess / ((kind.q**2 - 1) / 3))
    A = np.vstack([A, load * np.eye(A.shape[1])])
    return _factored(A, np.hstack([model.real_y, np.zeros((len(model.y), A.shape[1]))]), kind, False)


def _factored(A: Host, Y: Host, kind: Constellation, spins: bool) -> Triangular | None:
    order = sorted_columns(A)
    Q, R = np.linalg.qr(A[:, order])
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    R = signs[:, None] * R
    if np.any(np.diag(R) <= 1e-9 * np.abs(R).max()):
        return None
    Z = np.ascontiguousarray((Y @ Q) * signs)
    return Triangular(np.ascontiguousarray(R), Z, order, 2 if spins else kind.q, kind, spins)


def sorted_columns(A: Host) -> Host:
    """What is left of the columns smallest first, so that the last, decided first, are the strongest."""
    rest, left, order = A.copy(), list(range(A.shape[1])), []
    for _ in range(A.shape[1]):
        norms = np.sum(rest[:, left] ** 2, axis=0)
        j = left.pop(int(np.argmin(norms)))
        order.append(j)
        direction = rest[:, j] / (np.linalg.norm(rest[:, j]) or 1.0)
        rest[:, left] -= np.outer(direction, direction @ rest[:, left])
    return np.asarray(order)
