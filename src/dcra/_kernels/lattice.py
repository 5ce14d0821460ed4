"""Not ported yet: `numba_reference.lattice`."""

from .numba_reference.lattice import sample_levels, search_levels, sphere  # noqa: F401
