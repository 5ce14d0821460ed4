"""What a proof concluded from which slopes, kept small: most slopes stand at one end of their row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Event
from dcra.exact.kinks import KinkForm
from dcra.exact.subtree import Records


class Written(NamedTuple):
    """Events (k, 4), ends (s, r) of slopes, and the values of those at no end."""

    events: Host
    ends: Host
    values: Host


class ProofLog:
    """Conclusions as they come; `complete` until they take more than `most` bytes."""

    def __init__(self, form: KinkForm, most: int) -> None:
        self.form, self.left = form, most
        self.complete = most > 0
        self.count = 0
        self.events: list[Host] = []
        self.ends: list[Host] = []
        self.values: list[Host] = []

    def take(self, records: Records) -> None:
        """Keep some more."""
        if not self.complete or not len(records.events):
            return
        events, Y = self._renumbered(records.events), records.slopes
        ends = (self.form.hi == Y).astype(np.int8) - (self.form.lo == Y) * (self.form.lo < self.form.hi)
        values = Y[ends == 0]
        self.count += len(Y)
        self._keep(events, ends.astype(np.int8), values)

    def join(self, other: Written | None) -> None:
        """Keep what another log has; None where that was too much."""
        if not self.complete or other is None:
            self.complete = False
            return
        events = self._renumbered(other.events)
        self.count += len(other.ends)
        self._keep(events, other.ends, other.values)

    def _renumbered(self, events: Host) -> Host:
        """Events whose slopes come after those that are kept; branches and points rest on none."""
        events = events.copy()
        events[~np.isin(events[:, 0], (Event.BRANCH, Event.POINT)), 3] += self.count
        return events

    def _keep(self, events: Host, ends: Host, values: Host) -> None:
        self.events.append(events)
        self.ends.append(ends)
        self.values.append(values)
        self.left -= events.nbytes + ends.size + values.nbytes
        if self.left < 0:
            self.complete = False
            self.events, self.ends, self.values = [], [], []

    def written(self) -> Written | None:
        """All of it; None where that was too much."""
        return self.arrays() if self.complete else None

    def arrays(self) -> Written:
        """All that is kept."""
        r = self.form.r
        return Written(
            np.concatenate([np.zeros((0, 4), np.int64), *self.events]),
            np.concatenate([np.zeros((0, r), np.int8), *self.ends]),
            np.concatenate([np.zeros(0), *self.values]),
        )
