"""What a tree over couplings concluded from which multipliers, in terms of the variables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra.exact.couplings_certificate import PairEvent
from dcra.exact.couplings_form import CouplingsForm
from dcra.exact.merging import FixedPair, Merge
from dcra.exact.triangle_bound import Proved, TriangleRelaxation

SIGNS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
"""Of the products ij, ik and jk in triangles of each kind."""

INHERITED = -1
"""In the place of multipliers: those that the node was given its bound by."""


class TriangleSet(NamedTuple):
    """Triangles (t, 4) of spins, their prices, and what multipliers (n+1,) lack for spins that are one."""

    triangles: Host
    prices: Host
    merged: Host

    @property
    def nbytes(self) -> int:
        return self.triangles.nbytes + self.prices.nbytes + self.merged.nbytes


class PairRecords(NamedTuple):
    """What was concluded at one node: events (k, 6), multipliers with the number of their set, and sets."""

    events: list[list[int]]
    y: list[Host]
    sets: list[int]
    triangles: list[TriangleSet]

    @property
    def nbytes(self) -> int:
        numbers = sum(y.nbytes for y in self.y)
        return 48 * len(self.events) + numbers + sum(part.nbytes for part in self.triangles)


class NodeLog:
    """Takes notes at one node; spin 0 is the one that fields are couplings of, spin i + 1 variable i."""

    def __init__(self, form: CouplingsForm, number: int) -> None:
        self.form, self.number = form, number
        self.records = PairRecords([], [], [], [])
        self.spin = np.zeros(form.p, int)  # of the vertices
        there = np.flatnonzero(form.vertex >= 0)
        self.spin[form.vertex[there]] = there + 1

    def multipliers(self, proved: Proved, relaxation: TriangleRelaxation, merge: Merge) -> int:
        """Keep what gives a bound; its number."""
        first = np.unique(merge.label, return_index=True)[1]
        turned = merge.sign[first]
        y, merged = np.zeros((2, self.form.vertex.size + 1))
        y[self.spin[first]], merged[self.spin[first]] = np.diag(proved.S), -merge.diagonal(self.form.M)
        priced = relaxation.usual > 0
        corners = relaxation.corners[priced]
        places, signs = corners[:, :3], SIGNS[corners[:, 3]]
        t = turned[places]
        signs = signs * np.column_stack([t[:, 0] * t[:, 1], t[:, 0] * t[:, 2], t[:, 1] * t[:, 2]])
        kind = np.where(np.all(signs > 0, axis=1), 0, np.argmax(signs, axis=1) + 1)
        rows = np.column_stack([self.spin[first[places]], kind]).astype(np.int32)
        self.records.triangles.append(TriangleSet(rows, relaxation.usual[priced], merged))
        return self._keep(y)

    def _keep(self, y: Host) -> int:
        self.records.y.append(y)
        self.records.sets.append(len(self.records.triangles) - 1)
        return len(self.records.y) - 1

    def merged(self, pairs: list[FixedPair], at: int, merge: Merge) -> None:
        """Pairs that follow from multipliers number `at`: with the other sign these gain something."""
        for i, j, sign, gain in pairs:
            a, b, sign = self._pair(merge, i, j, sign)
            y = self.records.y[at].copy()
            y[a] -= gain
            self._note(PairEvent.MERGE, a, b, sign, self._keep(y))

    def divided(self, i: int, j: int, sign: float, child: int, merge: Merge) -> None:
        """Two children, z_i = sign z_j in the first."""
        self._note(PairEvent.BRANCH, *self._pair(merge, i, j, sign), child)

    def closed(self, at: int) -> None:
        """The node, by multipliers number `at`."""
        self._note(PairEvent.LEAF, 0, 0, 0, at)

    def looked_at(self) -> None:
        """All points that are left."""
        self._note(PairEvent.POINTS, 0, 0, 0, 0)

    def _note(self, kind: PairEvent, i: int, j: int, sign: int, at: int) -> None:
        self.records.events.append([int(kind), self.number, i, j, sign, at])

    def _pair(self, merge: Merge, i: int, j: int, sign: float) -> tuple[int, int, int]:
        """Two spins that are left as spins of the problem."""
        first = np.unique(merge.label, return_index=True)[1]
        v, w = first[i], first[j]
        return int(self.spin[v]), int(self.spin[w]), int(sign * merge.sign[v] * merge.sign[w])


class PairLog:
    """All that was concluded; `complete` until it takes more than `most` bytes."""

    def __init__(self, form: CouplingsForm, most: int) -> None:
        self.form, self.left = form, most
        self.complete = most > 0
        self.events: list[list[int]] = []
        self.y: list[Host] = []
        self.sets: list[int] = []
        self.triangles: list[TriangleSet] = []

    def join(self, records: PairRecords | None, inherited: int) -> int:
        """Keep what was concluded at a node that has its bound by multipliers `inherited`.

        What the numbers of its multipliers are raised by.
        """
        base, first = len(self.y), len(self.triangles)
        if not self.complete or records is None:
            self.complete = False
            return base
        for kind, node, i, j, sign, at in records.events:
            rests = kind in (PairEvent.MERGE, PairEvent.LEAF)
            known = inherited if at == INHERITED else at + base
            self.events.append([kind, node, i, j, sign, known if rests else at])
        self.y += records.y
        self.sets += [first + number for number in records.sets]
        self.triangles += records.triangles
        self.left -= records.nbytes
        if self.left < 0:
            self.complete = False
            self.events, self.y, self.sets, self.triangles = [], [], [], []
        return base

    def closed(self, number: int, at: int) -> None:
        """A node that was closed as it was met, by multipliers number `at`."""
        if self.complete:
            self.events.append([int(PairEvent.LEAF), number, 0, 0, 0, at])

    def arrays(self) -> dict[str, Host]:
        """All that is kept, as a certificate has it."""
        n = self.form.vertex.size
        counts = [len(part.prices) for part in self.triangles]
        none, sets = TriangleSet(np.zeros((0, 4), np.int32), np.zeros(0), np.zeros(n + 1)), self.triangles
        return {
            "events": np.array(self.events, np.int64).reshape(-1, 6),
            "y": np.array(self.y, np.float64).reshape(-1, n + 1),
            "sets": np.array(self.sets, np.int64),
            "ends": np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            "merged": np.array([part.merged for part in sets], np.float64).reshape(-1, n + 1),
            "triangles": np.concatenate([none.triangles, *(part.triangles for part in sets)]),
            "prices": np.concatenate([none.prices, *(part.prices for part in sets)]),
        }
