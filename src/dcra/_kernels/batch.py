"""Not ported yet: `numba_reference.batch`."""

from .numba_reference.batch import DRAWS, LANES, batch, scratch  # noqa: F401
