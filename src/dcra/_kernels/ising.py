"""Not ported yet: `numba_reference.ising`."""

from .numba_reference.ising import anneal, descend, descend_pairs, fields, keep, tabu, turn

__all__ = ["anneal", "descend", "descend_pairs", "fields", "keep", "tabu", "turn"]
