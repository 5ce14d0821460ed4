"""Metropolis annealing by single flips that remembers what flips would cost."""

from .face import Loop
from .store import Array, Memory, Model

_anneal = Loop(
    "anneal.anneal",
    """
    model         Model
    x             real (n) rw
    z             real (r) rw
    score         float64 (3) rw
    best_x        real (n) rw
    rng           uint64 (4) rw
    temperatures  float64 (passes)
    memory        Memory
    caution       float
    """,
    returns=int,
)


def anneal(
    model: Model,
    x: Array,
    z: Array,
    score: Array,
    best_x: Array,
    rng: Array,
    temperatures: Array,
    memory: Memory,
    caution: float,
) -> int:
    """One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.

    Most proposals at a good point are hopeless, and evaluating them is all the work. The rise of a flip
    changes only when another column flips, by a random step whose variance `memory.drift` learns. So a rise
    is reused while nothing has flipped, and a column whose rise exceeds three temperatures by v is not looked
    at for (v / caution)^2 / drift flips. caution = inf gives plain Metropolis; 1 saves most of the work.

    Parameters
    ----------
    memory : Memory   from `store.memory`; fresh whenever (x, z) was changed by anyone else

    Returns the entries of A touched. To resume, pass the rest of the temperatures.
    """
    return _anneal(model, x, z, score, best_x, rng, temperatures, memory, caution)
