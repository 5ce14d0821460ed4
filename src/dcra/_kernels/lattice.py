"""Not ported yet: `numba_reference.lattice`."""

from .numba_reference.lattice import sample_levels, search_levels, sphere

__all__ = ["sample_levels", "search_levels", "sphere"]
