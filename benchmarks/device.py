"""Method "auto" on an accelerator and on the CPU, on the same instances, in the same seconds.

    python benchmarks/device.py --sizes 300x300,1000x1000 --seconds 1,4 --seeds 3

Rows are r x n, A and b standard normal in float32, the loss is l1. Without CUDA only the CPU is measured;
without Numba its column says nothing about the compiled loops, and is left out.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np

import dcra
from dcra.auto import placement


def instance(r: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((r, n), np.float32), rng.standard_normal(r, np.float32)


def places() -> dict[str, object]:
    """How arrays get there."""
    found = {}
    if find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            found["cuda"] = lambda x: torch.asarray(x, device="cuda")
    if find_spec("numba") is not None:
        found["cpu"] = lambda x: x
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100x100,300x300,1000x1000,2000x3000,10000x10000")
    parser.add_argument("--seconds", default="1,4")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    placement.HOST_ENTRIES = 0  # CUDA means CUDA, however small A is
    for size in options.sizes.split(","):
        r, n = map(int, size.split("x"))
        for name, there in places().items():
            A, b = map(there, instance(60, 80, 0))
            dcra.minimize(A, b, starts=4)  # loops are compiled, libraries loaded
            for seconds in map(float, options.seconds.split(",")):
                found = []
                for seed in range(options.seeds):
                    A, b = map(there, instance(r, n, seed))
                    found.append(dcra.minimize(A, b, time_limit=seconds, seed=seed))
                values = np.array([result.fun for result in found])
                slowest = max(result.seconds for result in found)
                print(
                    f"{size:12} {name:5} {seconds:5g} s  mean {values.mean():12.2f}  "
                    f"{' '.join(f'{v:.2f}' for v in values)}  slowest {slowest:.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
