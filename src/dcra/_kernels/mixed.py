"""The searches of `quadratic` with losses beside: f(As - b) + c's + s'Js, by residual z and local fields g.

Flipping s_j changes the losses by what a trial along column j finds, and the rest by -s_j g_j, as there.
score = [value now, value of the best point, losses now]. C may be of another dtype than the model.
"""

import numpy as np

from .face import Loop, placed
from .gray import blocks_of
from .quadratic import check_thresholds
from .store import Array, Dense, Model, Sparse, TabuMemory

_value = Loop(
    "mixed.value",
    """
    model  Model
    field  real (n)
    s      real (n)
    z      real (r)
    g      real (n)
    score  float64 (3) rw
    """,
)
_descend = Loop(
    "mixed.descend",
    """
    model   Model
    C       store (n, n)
    s       real (n) rw
    z       real (r) rw
    g       real (n) rw
    score   float64 (3) rw
    order   int64 (m)
    cursor  int64 (2) rw
    tiny    float
    trials  int
    """,
    returns=int,
)
_descend_pairs = Loop(
    "mixed.descend_pairs",
    """
    model   Model
    C       store (n, n)
    s       real (n) rw
    z       real (r) rw
    g       real (n) rw
    score   float64 (3) rw
    cursor  int64 (2) rw
    tiny    float
    trials  int
    """,
    returns=int,
)
_anneal = Loop(
    "mixed.anneal",
    """
    model         Model
    C             store (n, n)
    s             real (n) rw
    z             real (r) rw
    g             real (n) rw
    score         float64 (3) rw
    best_s        real (n) rw
    rng           uint64 (4) rw
    temperatures  real (passes)
    thresholds    real (draws)
    """,
    returns=int,
)
_tabu = Loop(
    "mixed.tabu",
    """
    model   Model
    C       store (n, n)
    s       real (n) rw
    z       real (r) rw
    g       real (n) rw
    score   float64 (3) rw
    memory  TabuMemory
    moves   int
    tenure  int
    spread  int
    """,
    returns=int,
)
_gray = Loop(
    "mixed.gray",
    """
    model  Model
    b      real (r)
    C      store (n, n)
    field  real2 (n)
    lo     int
    hi     int
    s      real (n) rw
    z      real (r) rw
    g      real (n) rw
    score  float64 (3) rw
    code   int64 (1) rw
    least  float64 (blocks) rw
    """,
    returns=float,
)


def value(model: Model, field: Array, s: Array, z: Array, g: Array, score: Array) -> None:
    """Set score for the point s with residual z and fields g."""
    _value(model, field, s, z, g, score)


def descend(
    model: Model,
    C: Dense | Sparse,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    order: Array,
    cursor: Array,
    tiny: float,
    trials: int,
) -> int:
    """`quadratic.descend`."""
    work = _descend(model, C, s, z, g, score, order, cursor, tiny, trials)
    return placed(work, "`order` and `cursor`")


def descend_pairs(
    model: Model,
    C: Dense | Sparse,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    cursor: Array,
    tiny: float,
    trials: int,
) -> int:
    """`quadratic.descend_pairs`: pairs that are coupled by J."""
    return placed(_descend_pairs(model, C, s, z, g, score, cursor, tiny, trials), "`cursor`")


def anneal(
    model: Model,
    C: Dense | Sparse,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
) -> int:
    """`quadratic.anneal`."""
    check_thresholds(thresholds)
    return _anneal(model, C, s, z, g, score, best_s, rng, temperatures, thresholds)


def tabu(
    model: Model,
    C: Dense | Sparse,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    memory: TabuMemory,
    moves: int,
    tenure: int,
    spread: int,
) -> int:
    """`quadratic.tabu`; every move looks at all columns of A."""
    return _tabu(model, C, s, z, g, score, memory, moves, tenure, spread)


def gray(
    model: Model,
    b: Array,
    C: Dense | Sparse,
    field: Array,
    lo: int,
    hi: int,
    s: Array,
    z: Array,
    g: Array,
    score: Array,
    least: Array | None = None,
) -> tuple[float, int]:
    """Best value over positions lo..hi of the Gray sequence, and its lowest position; as in `gray.gray`.

    s, z, g and score are scratch.
    """
    least = blocks_of(lo, hi, s.size, least)
    code = np.empty(1, np.int64)
    best = _gray(model, b, C, field, lo, hi, s, z, g, score, code, least)
    return best, int(code[0])
