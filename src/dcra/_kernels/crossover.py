"""Not ported yet: `numba_reference.crossover`."""

from .numba_reference.crossover import cross

__all__ = ["cross"]
