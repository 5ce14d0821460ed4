"""Breadth-first tree search behind a triangular matrix: the best few partial frames are kept."""

from __future__ import annotations

import numpy as np

from dcra.apps.mimo.model import Host
from dcra.apps.mimo.triangular import Triangular

ENTRIES = 1 << 21
"""Partial frames in memory at once, in entries."""


def breadth_first(form: Triangular, keep: int) -> Host:
    """Levels (k, n) of the frames, `keep` partial ones kept for each."""
    step = max(1, ENTRIES // (keep * form.n))
    parts = [_frames(form, form.Z[lo : lo + step], keep) for lo in range(0, len(form.Z), step)]
    return np.concatenate(parts)


def _frames(form: Triangular, Z: Host, keep: int) -> Host:
    R, choices = form.R, 2.0 * np.arange(form.q) - (form.q - 1)
    rows = np.arange(len(Z))[:, None]
    points, costs = np.zeros((len(Z), 1, form.n)), np.zeros((len(Z), 1))
    for i in reversed(range(form.n)):
        rest = Z[:, i, None] - points[:, :, i + 1 :] @ R[i, i + 1 :]
        total = costs[:, :, None] + (rest[:, :, None] - R[i, i] * choices) ** 2
        total = total.reshape(len(Z), -1)
        best = np.argpartition(total, keep - 1, axis=1)[:, :keep] if total.shape[1] > keep else _all(total)
        parent, level = np.divmod(best, form.q)
        points, costs = points[rows, parent], total[rows, best]
        points[:, :, i] = choices[level]
    winner = np.argmin(costs, axis=1)
    return form.decode(points[rows[:, 0], winner])


def _all(total: Host) -> Host:
    return np.broadcast_to(np.arange(total.shape[1]), total.shape)
