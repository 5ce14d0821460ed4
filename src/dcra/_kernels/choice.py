"""Tabu search over choices: one spin of each group is up, and a move is another choice of one group."""

from .face import Loop, placed
from .store import Array, Dense, Sparse

_tabu = Loop(
    "choice.tabu_choices",
    """
    C       store (n, n)
    s       real (n) rw
    g       real (n) rw
    score   float64 (2) rw
    best_s  real (n) rw
    rng     uint64 (4) rw
    until   int64 (n) rw
    clock   int64 (1) rw
    moves   int
    tenure  int
    spread  int
    tiny    float
    group   int64 (n)
    up      int64 (groups) rw
    """,
    returns=int,
)


def tabu_choices(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    until: Array,
    clock: Array,
    moves: int,
    tenure: int,
    spread: int,
    tiny: float,
    group: Array,
    up: Array,
) -> int:
    """Make `moves` best choices that are not tabu, or beat the best point, which best_s keeps, by `tiny`.

    Parameters
    ----------
    until : (n,) int64    move at which a spin may be chosen again
    clock : (1,) int64    moves made so far
    tenure, spread : int  a choice that was left is tabu for tenure to tenure + spread - 1 moves
    group : (n,) int64    group of each spin
    up : (groups,) int64  the choice of each group, for this very s
    """
    if spread < 1:
        raise ValueError(f"`spread` must be at least 1; got {spread}")
    done = _tabu(C, s, g, score, best_s, rng, until, clock, moves, tenure, spread, tiny, group, up)
    return placed(done, "`group` and `up`")
