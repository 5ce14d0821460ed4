"""Not ported yet: `numba_reference.quadratic`."""

from .numba_reference.quadratic import anneal, descend, descend_pairs, fields, keep, tabu, turn

__all__ = ["anneal", "descend", "descend_pairs", "fields", "keep", "tabu", "turn"]
