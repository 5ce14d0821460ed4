"""Not ported yet: `numba_reference.gray`."""

from .numba_reference.gray import gray  # noqa: F401
