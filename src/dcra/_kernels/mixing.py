"""Not ported yet: `numba_reference.mixing`."""

from .numba_reference.mixing import mix

__all__ = ["mix"]
