"""Assignments: constraints that are rows and columns of a board, on which one cell of each may be up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcra._array import Host
from dcra._kernels.exchange import NOBODY, SHUT
from dcra.foreign import importing
from dcra.model.constraints import Constraints, Group

MOST_CELLS = 1 << 22
"""Of a board; larger ones are left to other searches."""


class Board(NamedTuple):
    """Rows that sit in columns, one each.

    Attributes
    ----------
    cells : (m, m) array of int
        The variable that is up where row i sits in column k, or NOBODY, or SHUT. Rows and columns that may
        stay empty are matched with ones that are made up.
    """

    cells: Host

    def seated(self, points: Host, rng: np.random.Generator) -> Host:
        """Points (k, n) of spins with one variable of each row and column up, as near to these as can be."""
        return np.stack([self._spins(spins, self._columns(spins, rng)) for spins in points])

    def columns(self, spins: Host) -> Host:
        """The column of every row, where spins (n,) are seated already."""
        return self._columns(spins, None)

    def _columns(self, spins: Host, rng: np.random.Generator | None) -> Host:
        """The columns that keep most spins that are up; ties are drawn."""
        with importing():
            from scipy import sparse
            from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        i, k = np.nonzero(self.cells != SHUT)
        cell = self.cells[i, k]
        keen = (cell >= 0) & (spins[cell] > 0)
        cost = np.where(keen, 1.0, np.where(cell == NOBODY, 2.0, 3.0))
        cost = cost if rng is None else cost + 0.5 * rng.random(cost.size)
        weights = sparse.csr_array((cost, (i, k)), shape=self.cells.shape)
        return np.asarray(min_weight_full_bipartite_matching(weights)[1], np.int64)

    def _spins(self, spins: Host, at: Host) -> Host:
        seated = spins.copy()
        seated[self.cells[self.cells >= 0]] = -1.0
        taken = self.cells[np.arange(at.size), at]
        seated[taken[taken >= 0]] = 1.0
        return seated


def board_of(constraints: Constraints) -> Board | None:
    """The board that constraints are the rows and columns of; None where they are not, or none fits.

    All must be counts of at most one, or exactly one, every variable in one or two of them, and those with
    common variables fall in two kinds, rows and columns, of which any two have one variable in common.
    """
    groups = [constraints.count_of(i) for i in range(len(constraints))]
    counts = [group for group in groups if group is not None and group.most == 1]
    if len(counts) < len(groups):
        return None
    owners: list[list[int]] = [[] for _ in range(constraints.n)]
    for g, group in enumerate(counts):
        for variable in group.members.tolist():
            owners[variable].append(g)
    if not all(1 <= len(known) <= 2 for known in owners):
        return None
    side = _two_kinds(owners, counts)
    if side is None:
        return None
    cells = _cells(owners, counts, side)
    return None if cells is None or not _can_be_filled(cells) else Board(cells)


def _can_be_filled(cells: Host) -> bool:
    """Whether every row can sit somewhere."""
    with importing():
        from scipy import sparse
        from scipy.sparse.csgraph import maximum_bipartite_matching

    return bool(np.all(maximum_bipartite_matching(sparse.csr_array(cells != SHUT)) >= 0))


def _two_kinds(owners: list[list[int]], counts: list[Group]) -> list[int] | None:
    """Row (0) or column (1) for each group, such that no two of a kind share a variable."""
    neighbours: list[set[int]] = [set() for _ in counts]
    for known in owners:
        if len(known) == 2:
            neighbours[known[0]].add(known[1])
            neighbours[known[1]].add(known[0])
    side = [-1] * len(counts)
    for first in range(len(counts)):
        queue = [first] if side[first] < 0 else []
        side[first] = max(side[first], 0)
        while queue:
            here = queue.pop()
            for other in neighbours[here]:
                if side[other] < 0:
                    side[other] = 1 - side[here]
                    queue.append(other)
                elif side[other] == side[here]:
                    return None
    return side


def _cells(owners: list[list[int]], counts: list[Group], side: list[int]) -> Host | None:
    """The board, with rows and columns made up for those that may stay empty; None where it cannot be."""
    least: tuple[list[int], list[int]] = ([], [])
    number = []
    for group, kind in zip(counts, side, strict=True):
        number.append(len(least[kind]))
        least[kind].append(group.least)
    spots = []
    for variable, known in enumerate(owners):  # a variable of one group has the other side to itself
        own = {side[g]: number[g] for g in known}
        for kind in {0, 1} - set(own):
            own[kind] = len(least[kind])
            least[kind].append(0)
        spots.append((own[0], own[1], variable))
    rows, columns = np.array(least[0]), np.array(least[1])
    must = max(rows.sum(), columns.sum())
    m = rows.size + columns.size - must
    if must > min(rows.size, columns.size) or m * m > MOST_CELLS:
        return None
    cells = np.full((m, m), NOBODY, np.int64)
    cells[: rows.size, : columns.size] = SHUT
    cells[np.flatnonzero(rows), columns.size :] = SHUT
    cells[rows.size :, np.flatnonzero(columns)] = SHUT
    for i, k, variable in spots:
        if cells[i, k] >= 0:
            return None
        cells[i, k] = variable
    return cells
