"""Not ported yet: `numba_reference.batch`."""

from .numba_reference.batch import DRAWS, LANES, batch, scratch

__all__ = ["DRAWS", "LANES", "batch", "scratch"]
