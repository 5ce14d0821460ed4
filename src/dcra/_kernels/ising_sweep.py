"""Not ported yet: `numba_reference.ising_sweep`."""

from .numba_reference.ising_sweep import sweep  # noqa: F401
