"""Not ported yet: `numba_reference.ising_sweep`."""

from .numba_reference.ising_sweep import sweep

__all__ = ["sweep"]
