"""Not ported yet: `numba_reference.clauses`."""

from .numba_reference.clauses import anneal_clauses, place, propagate, walk_clauses

__all__ = ["anneal_clauses", "place", "propagate", "walk_clauses"]
