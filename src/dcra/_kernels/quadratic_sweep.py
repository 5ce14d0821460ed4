"""Not ported yet: `numba_reference.quadratic_sweep`."""

from .numba_reference.quadratic_sweep import sweep

__all__ = ["sweep"]
