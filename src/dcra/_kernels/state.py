"""State shared by the loops: z = Ax - b, and score = [loss, linear part, best seen]."""

from .face import Loop
from .store import Array, Model

_refresh = Loop(
    "state.refresh",
    """
    model  Model
    b      real (r)
    x      real (n)
    z      real (r) rw
    """,
)
_value = Loop(
    "state.value",
    """
    model  Model
    x      real (n)
    z      real (r)
    """,
    returns=float,
)
_measure = Loop(
    "state.measure",
    """
    model  Model
    x      real (n)
    z      real (r)
    score  float64 (3) rw
    """,
)


def refresh(model: Model, b: Array, x: Array, z: Array) -> None:
    """Z = A x - b."""
    _refresh(model, b, x, z)


def value(model: Model, x: Array, z: Array) -> float:
    """The objective at x, accumulated in float64."""
    return _value(model, x, z)


def measure(model: Model, x: Array, z: Array, score: Array) -> None:
    """Set score = [loss, linear part, objective] for the point (x, z)."""
    _measure(model, x, z, score)
