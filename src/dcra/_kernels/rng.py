"""Not ported yet: `numba_reference.rng`."""

from .numba_reference.rng import reseed  # noqa: F401
