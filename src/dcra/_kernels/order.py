"""Clauses put in order: the literals of each by variable and without repetition, none that is always true."""

import numpy as np

from .face import Loop, placed
from .store import Array

_by_variable = Loop(
    "order.by_variable",
    """
    ptr       int64 (m+1)
    literals  int64 (k)
    ordered   int64 (k) rw
    ends      int64 (m+1) rw
    keep      bool (m) rw
    """,
    returns=int,
)


def by_variable(ptr: Array, literals: Array) -> tuple[Array, Array, Array]:
    """Literals by variable, each once in its clause, where clauses end, and which were kept.

    ptr : (m+1,) int64       clause c is literals[ptr[c]:ptr[c+1]]
    literals : (k,) int64    +v or -v, where 0 < v < 2^62

    Clauses that hold a variable and its negation are left out. Returns the literals of the others, the
    numbers from 0 on that are `ptr` for these, and a mask of m clauses.
    """
    ordered, ends = np.empty(literals.size, np.int64), np.empty(ptr.size, np.int64)
    keep = np.empty(max(ptr.size - 1, 0), bool)
    count = placed(_by_variable(ptr, literals, ordered, ends, keep), "`ptr`")
    return ordered[:count], ends[: np.count_nonzero(keep) + 1], keep
