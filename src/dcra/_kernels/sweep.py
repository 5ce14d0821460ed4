"""Not ported yet: `numba_reference.sweep`."""

from .numba_reference.sweep import round_to_spins, sweep  # noqa: F401
