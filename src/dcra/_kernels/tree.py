"""Not ported yet: `numba_reference.tree`."""

from .numba_reference.tree import breadth_first

__all__ = ["breadth_first"]
