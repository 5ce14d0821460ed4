"""Descent by single flips and by pairs of flips."""

from .face import Loop, placed
from .store import Array, Model

_flip = Loop(
    "flip.flip",
    """
    model   Model
    x       real (n) rw
    z       real (r) rw
    score   float64 (3) rw
    order   int64 (m)
    cursor  int64 (2) rw
    trials  int
    """,
    returns=int,
)
_pair = Loop(
    "flip.pair",
    """
    model   Model
    x       real (n) rw
    z       real (r) rw
    score   float64 (3) rw
    order   int64 (m)
    cursor  int64 (2) rw
    trials  int
    """,
    returns=int,
)


def flip(model: Model, x: Array, z: Array, score: Array, order: Array, cursor: Array, trials: int) -> int:
    """Flip whatever improves, cyclically along `order`, for at most `trials` trials.

    cursor = [position, trials since the last flip], int64, zeros at the start; x is one-flip optimal on
    `order` when cursor[1] >= order.size. score[2] ends as the objective. Returns the entries of A touched.
    """
    return placed(_flip(model, x, z, score, order, cursor, trials), "`order` and `cursor`")


def pair(model: Model, x: Array, z: Array, score: Array, order: Array, cursor: Array, trials: int) -> int:
    """Flip pairs of `order` that improve together; arguments as in `flip`, one trial being one first member.

    x has no improving pair in `order` when cursor[1] >= order.size. A trial costs order.size columns.
    """
    return placed(_pair(model, x, z, score, order, cursor, trials), "`order` and `cursor`")
