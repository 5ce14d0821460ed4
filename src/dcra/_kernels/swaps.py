"""Not ported yet: `numba_reference.swaps`."""

from .numba_reference.swaps import changes, search

__all__ = ["changes", "search"]
