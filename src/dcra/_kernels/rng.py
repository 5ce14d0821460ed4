"""Random states in the compiled loops; `seed.state` makes the same ones."""

from .face import Loop
from .store import Array

_reseed = Loop(
    "rng.reseed",
    """
    rng    uint64 (4) rw
    seed   uint64
    index  uint64
    """,
)


def reseed(rng: Array, seed: int, index: int) -> None:
    """Set `rng` to `seed.state(seed, index)`; both arguments uint64."""
    _reseed(rng, seed, index)
