"""Not ported yet: `numba_reference.swap`."""

from .numba_reference.swap import anneal_swaps  # noqa: F401
