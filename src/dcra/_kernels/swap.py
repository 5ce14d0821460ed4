"""Not ported yet: `numba_reference.swap`."""

from .numba_reference.swap import anneal_swaps

__all__ = ["anneal_swaps"]
