"""Not ported yet: `numba_reference.join`."""

from .numba_reference.join import meet

__all__ = ["meet"]
