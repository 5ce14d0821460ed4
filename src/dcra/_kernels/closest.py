"""Not ported yet: `numba_reference.closest`."""

from .numba_reference.closest import cells, closest, scatter

__all__ = ["cells", "closest", "scatter"]
