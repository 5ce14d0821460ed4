"""Cut a graph: a toroidal grid with random signs, by annealing and crossing, with a bound.

Run: python examples/maxcut.py [seconds]
"""

import sys

import numpy as np

from dcra.apps import maxcut


def torus(side: int, seed: int) -> list[tuple[int, int, float]]:
    """A grid closed in both directions, weights 1 and -1."""
    rng = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    edges = []
    for axis in (0, 1):
        for i, j in zip(node.ravel(), np.roll(node, -1, axis).ravel(), strict=True):
            edges.append((int(i), int(j), float(rng.choice([-1, 1]))))
    return edges


def main(seconds: float = 2.0) -> None:
    edges = torus(30, seed=0)
    maxcut(torus(6, seed=0), starts=1)  # compiles the loops before the clock runs
    for method in ("random", "flip", "sdp-rounding", "auto"):
        cut = maxcut(edges, method=method, time_limit=seconds, seed=0)
        print(f"{method:>14}  {cut}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
