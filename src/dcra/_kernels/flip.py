"""Not ported yet: `numba_reference.flip`."""

from .numba_reference.flip import flip, pair  # noqa: F401
