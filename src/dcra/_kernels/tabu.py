"""Not ported yet: `numba_reference.tabu`."""

from .numba_reference.tabu import rises_at, tabu  # noqa: F401
