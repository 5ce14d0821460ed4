"""Not ported yet: `numba_reference.state`."""

from .numba_reference.state import measure, refresh, value  # noqa: F401
