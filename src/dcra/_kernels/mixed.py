"""Not ported yet: `numba_reference.mixed`."""

from .numba_reference.mixed import anneal, descend, descend_pairs, gray, tabu, turn, value

__all__ = ["anneal", "descend", "descend_pairs", "gray", "tabu", "turn", "value"]
