"""Many signals measured by one A: message passing for all of them together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcra._array import Host
from dcra.apps.compressed_sensing.messages import MAX_STEPS, Channel, Messages, prior_of
from dcra.apps.compressed_sensing.validation import Asked
from dcra.search.threads import one_blas_thread

CHUNK_ENTRIES = 1 << 22
"""Means in memory at once."""


SHARE = 0.5
"""Of the time limit."""


def pass_messages_together(asked: Asked, over: Callable[[float], bool]) -> list[Host | None]:
    """For each row of measurements a point that seems to match them, or None.

    `over` says whether a share of the time has passed.
    """
    channel = Channel.of(asked.A)
    if channel.rows == 1 or asked.noise:
        return [None] * len(asked.rows)
    mean = None if asked.sparsity is None else 2 * asked.sparsity - 1
    B = 2 * asked.rows - channel.row_sums
    step = max(1, CHUNK_ENTRIES // channel.n)
    found: list[Host | None] = []
    with one_blas_thread():
        for lo in range(0, len(B), step):
            part = B[lo : lo + step]
            if over(SHARE):
                found += [None] * len(part)
            else:
                found += _chunk(Messages(channel, part, prior_of(channel, part, mean, 0.0), 0.0), over)
    return found


def _chunk(run: Messages, over: Callable[[float], bool]) -> list[Host | None]:
    """Steps until every row matches, has settled, or the time is over."""
    exact = np.zeros(len(run.B), bool)
    while not run.settled.all() and run.steps < MAX_STEPS and not over(SHARE):
        run.step()
        if run.steps % 5 == 0:
            exact = run.matched()
            run.settled |= exact
    exact = run.matched()
    X = (run.signs() + 1) / 2
    return [X[i] if exact[i] else None for i in range(len(X))]
