"""How replicas, rows and columns are dealt out to blocks, warps and lanes: a function of the problem."""

from __future__ import annotations

from typing import NamedTuple

MOST_ROWS = 2048
"""What the registers of one block hold of 16 replicas."""

STAGES = 3
COLUMNS_TRIED = 4
ANNEAL_STAGES, ANNEAL_WARPS = 4, 8


class SweepShape(NamedTuple):
    """Macros of kernels/sweep.cu: 16 M replicas and columns, warps, their row tiles, blocks at a time."""

    M: int
    WARPS: int
    TILES: int
    BLOCKS: int
    TABLE: int

    @property
    def width(self) -> int:
        """Replicas of a block, and columns of a step."""
        return 16 * self.M

    @property
    def rows(self) -> int:
        return 8 * self.TILES * self.WARPS

    @property
    def threads(self) -> int:
        return 32 * self.WARPS

    @property
    def shared_bytes(self) -> int:
        tiles = self.WARPS * STAGES * self.TILES * 2 * self.M * 128
        partial = self.WARPS * self.width * (24 * 4 if self.M == 1 else 40 * 2)
        table = self.TABLE * self.rows // 2 * 16
        return tiles + partial + 2 * self.width**2 + table + 8 * self.WARPS * STAGES


class AnnealShape(NamedTuple):
    """Macros of kernels/anneal.cu: replicas of a warp, rows of a lane, whether it remembers the best."""

    K: int
    LANE_ROWS: int
    TABLE: int
    BEST: int = 0

    @property
    def rows(self) -> int:
        return 32 * self.LANE_ROWS

    @property
    def replicas(self) -> int:
        """Of a block."""
        return ANNEAL_WARPS * self.K

    @property
    def shared_bytes(self) -> int:
        ring = ANNEAL_STAGES * COLUMNS_TRIED * self.rows * 4
        return ring + self.TABLE * self.rows * 16 + 16 * ANNEAL_STAGES


def sweep_shape(rows: int, table: bool, shared: int) -> SweepShape:
    """For a problem of `rows` rows on a device with `shared` bytes of shared memory for a block."""
    if rows > 1024:
        return SweepShape(1, 8, _tiles(rows, 8), 1, int(table))
    if rows > 512:
        return SweepShape(2, 8, _tiles(rows, 8), 1, int(table))
    small = SweepShape(2, 4, _tiles(rows, 4), 2, int(table))
    return small if 2 * (small.shared_bytes + 1024) <= shared + 1024 else small._replace(BLOCKS=1)


def anneal_shape(rows: int, table: bool) -> AnnealShape:
    replicas = 2 if rows > 1024 else 4 if rows > 512 else 8
    return AnnealShape(replicas, 4 * max(1, -(-rows // 128)), int(table))


def _tiles(rows: int, warps: int) -> int:
    """Tiles of 8 rows for each warp, an even number."""
    return 2 * max(1, -(-rows // (16 * warps)))
