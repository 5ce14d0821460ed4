"""Exchanges on a board: rows sit in columns, one each, and the spin of a row and its column is up.

A set F of flips raises the objective by the sum over F of -s_k g_k plus C_kl s_k s_l for every pair of F.
"""

from .face import Loop, placed
from .quadratic import check_thresholds
from .store import Array, Dense, Sparse

NOBODY, SHUT = -1, -2
"""Cells of a board that need no spin to be up, and those where a row may not sit."""

_POINT = """
    C             store (n, n)
    s             real (n) rw
    g             real (n) rw
    score         float64 (2) rw
"""
_BOARD = """
    board         int64 (m, m)
    at            int64 (m) rw
"""
_anneal = Loop(
    "exchange.anneal_exchanges",
    f"""{_POINT}
    best_s        real (n) rw
    rng           uint64 (4) rw
    temperatures  real (passes)
    thresholds    real (draws)
    {_BOARD}
    """,
    returns=int,
)
_descend = Loop(
    "exchange.descend_exchanges",
    f"""{_POINT}
    cursor  int64 (2) rw
    tiny    float
    trials  int
    {_BOARD}
    """,
    returns=int,
)


def anneal_exchanges(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    best_s: Array,
    rng: Array,
    temperatures: Array,
    thresholds: Array,
    board: Array,
    at: Array,
) -> int:
    """All pairs of rows at each of `temperatures`; best_s keeps the best point; see `quadratic.anneal`.

    Parameters
    ----------
    board : (m, m) int64   spin of a row in a column, or NOBODY, or SHUT
    at : (m,) int64        columns of the rows, for this very s
    """
    check_thresholds(thresholds)
    done = _anneal(C, s, g, score, best_s, rng, temperatures, thresholds, board, at)
    return placed(done, "`board` and `at`")


def descend_exchanges(
    C: Dense | Sparse,
    s: Array,
    g: Array,
    score: Array,
    cursor: Array,
    tiny: float,
    trials: int,
    board: Array,
    at: Array,
) -> int:
    """Make exchanges that improve by more than `tiny`; one trial is one row with its best partner.

    cursor as in `quadratic.descend`; no exchange improves when cursor[1] >= at.size.
    """
    return placed(_descend(C, s, g, score, cursor, tiny, trials, board, at), "`board`, `at` and `cursor`")
