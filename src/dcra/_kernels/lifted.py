"""Algorithms 1 and 2 of the paper for one start, in a compiled loop.

The factor is kept by columns: V (p, m) holds v0, w_1, ..., w_n as rows. `engines.dcra` has the plain form.
"""

from typing import Any, NamedTuple

import numpy as np

from .face import Loop, Struct
from .store import Array, Model

RHO, CURVATURE, SMOOTHED, ANCHOR, INNER, OUTER, DONE = range(7)
"""Places in the progress of a start."""

GROWTH, RHO_MAX, STEP_TOL, GAP_TOL, OBJECTIVE_TOL, MAX_INNER, MAX_OUTER = range(7)
BACKTRACK, SHRINK, GROW, GRID = range(7, 11)
"""Places in the options; OBJECTIVE_TOL < 0 means none, BACKTRACK 0 or 1."""


class _LiftedScratch(NamedTuple):
    U: Array
    x_new: Array
    z_new: Array
    g: Array
    gram: Array
    vectors: Array


class LiftedScratch(_LiftedScratch, Struct):
    """The next factor, its x and its residual, the gradient, and the eigenvectors of V'V."""

    layout = """
        U        real (n+1, m) rw
        x_new    real (n) rw
        z_new    real (r) rw
        g        real (n) rw
        gram     real (m, m) rw
        vectors  real (m, m) rw
    """


def scratch(n: int, m: int, r: int, dtype: Any = np.float64) -> LiftedScratch:
    """Work space of one start."""
    shapes = ((n + 1, m), (n,), (r,), (n,), (m, m), (m, m))
    return LiftedScratch(*(np.empty(shape, dtype) for shape in shapes))


_advance = Loop(
    "lifted.advance",
    """
    model     Model
    b         real (r)
    V         real (n+1, m) rw
    x         real (n) rw
    z         real (r) rw
    progress  float64 (7) rw
    options   float64 (11)
    steps     int
    scratch   LiftedScratch
    """,
    returns=int,
)
_smoothed_value = Loop(
    "lifted.smoothed_value",
    """
    model  Model
    x      real (n)
    z      real (r)
    """,
    returns=float,
)


def advance(
    model: Model,
    b: Array,
    V: Array,
    x: Array,
    z: Array,
    progress: Array,
    options: Array,
    steps: int,
    scratch: LiftedScratch,
) -> int:
    """At most `steps` steps of Algorithm 2, with Algorithm 1's turn whenever the inner loop has ended.

    Parameters
    ----------
    V, x, z : (p, m), (n,), (r,)   factor, x_j = <v0, w_j>, A x - b; updated
    progress, options : float64    see the names above; progress is updated
    scratch : LiftedScratch        from `scratch`

    Returns the steps made.
    """
    return _advance(model, b, V, x, z, progress, options, steps, scratch)


def smoothed_value(model: Model, x: Array, z: Array) -> float:
    """The smoothed objective at (x, z)."""
    return _smoothed_value(model, x, z)
