"""How replicas, rows and columns are dealt out to blocks, warps and lanes: a function of the problem."""

from __future__ import annotations

from typing import NamedTuple

PART_ROWS = 2048
"""What the registers of one block hold of 16 replicas."""

MOST_PARTS = 8
"""Blocks of a cluster, which share the rows of their replicas: as many as every device allows."""

MOST_ROWS = MOST_PARTS * PART_ROWS

NEIGHBOURS = 16
"""Multiprocessors that lie together at least: clusters do not reach across their borders."""

STAGES = 3
COLUMNS_TRIED = 4
ANNEAL_STAGES, ANNEAL_WARPS = 4, 8


class SweepShape(NamedTuple):
    """Macros of kernels/sweep.cu: 16 M replicas and columns, warps, their row tiles, blocks at a time.

    The rows of a replica are shared by PARTS blocks.
    """

    M: int
    WARPS: int
    TILES: int
    BLOCKS: int
    TABLE: int
    PARTS: int = 1

    @property
    def width(self) -> int:
        """Replicas of a block, and columns of a step."""
        return 16 * self.M

    @property
    def rows(self) -> int:
        return 8 * self.TILES * self.WARPS * self.PARTS

    @property
    def threads(self) -> int:
        return 32 * self.WARPS

    @property
    def shared_bytes(self) -> int:
        tiles = self.WARPS * STAGES * self.TILES * 2 * self.M * 128
        partial = self.WARPS * self.width * (24 * 4 if self.M == 1 else 40 * 2)
        table = self.TABLE * self.rows // self.PARTS // 2 * 16
        sums = 2 * 4 * self.width**2 if self.PARTS > 1 else 0
        return tiles + partial + 2 * self.width**2 + table + sums + 8 * self.WARPS * STAGES

    def most_replicas(self, multiprocessors: int) -> int:
        """What a device holds at one time."""
        if self.PARTS > 1:
            multiprocessors -= multiprocessors % NEIGHBOURS if multiprocessors > NEIGHBOURS else 0
        return max(1, multiprocessors * self.BLOCKS // self.PARTS) * self.width


class AnnealShape(NamedTuple):
    """Macros of kernels/anneal.cu: replicas of a warp, rows of a lane, whether it remembers the best.

    The rows of a replica are shared by warps of PARTS blocks.
    """

    K: int
    LANE_ROWS: int
    TABLE: int
    BEST: int = 0
    PARTS: int = 1

    @property
    def rows(self) -> int:
        return 32 * self.LANE_ROWS * self.PARTS

    @property
    def replicas(self) -> int:
        """Of a block, or of several that share their rows."""
        return ANNEAL_WARPS * self.K

    @property
    def shared_bytes(self) -> int:
        rows = 32 * self.LANE_ROWS
        ring = ANNEAL_STAGES * COLUMNS_TRIED * rows * 4
        mail = ANNEAL_WARPS * 2 * (self.PARTS * self.K * COLUMNS_TRIED * 4 + 8) if self.PARTS > 1 else 0
        return ring + self.TABLE * rows * 16 + mail + 16 * ANNEAL_STAGES


def sweep_shape(rows: int, table: bool, shared: int) -> SweepShape:
    """For a problem of `rows` rows on a device with `shared` bytes of shared memory for a block."""
    parts = parts_for(rows)
    if parts > 1 or rows > 1024:
        return SweepShape(1, 8, _tiles(-(-rows // parts), 8), 1, int(table), parts)
    if rows > 512:
        return SweepShape(2, 8, _tiles(rows, 8), 1, int(table))
    small = SweepShape(2, 4, _tiles(rows, 4), 2, int(table))
    return small if 2 * (small.shared_bytes + 1024) <= shared + 1024 else small._replace(BLOCKS=1)


def anneal_shape(rows: int, table: bool) -> AnnealShape:
    parts = parts_for(rows)
    replicas = 2 if parts > 1 or rows > 1024 else 4 if rows > 512 else 8
    return AnnealShape(replicas, 4 * max(1, -(-rows // (128 * parts))), int(table), PARTS=parts)


def parts_for(rows: int) -> int:
    """Blocks that share the rows of a replica, a power of two."""
    return 1 << max(0, -(-rows // PART_ROWS) - 1).bit_length()


def _tiles(rows: int, warps: int) -> int:
    """Tiles of 8 rows for each warp, an even number."""
    return 2 * max(1, -(-rows // (16 * warps)))
