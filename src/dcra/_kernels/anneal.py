"""Not ported yet: `numba_reference.anneal`."""

from .numba_reference.anneal import anneal  # noqa: F401
