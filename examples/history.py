"""Draw how a search went: objective and lower bound over time, on a regression with a hidden answer.

python examples/history.py                                   # shows no window, writes history.png
python examples/history.py --seconds 5 --output docs/images/history.png
"""

from __future__ import annotations

import argparse

import numpy as np

import dcra
from dcra.plotting import new_figure


def contaminated(n: int, r: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """r noisy measurements of n hidden bits, three in ten of them garbage."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, n))
    hidden = rng.choice([-1.0, 1.0], n)
    b = A @ hidden + 2 * rng.standard_normal(r)
    garbage = rng.random(r) < 0.3
    b[garbage] += 50 * rng.standard_normal(np.count_nonzero(garbage))
    return A, b, hidden


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs=2, default=(600, 700), metavar=("N", "R"))
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="history.png")
    options = parser.parse_args()

    A, b, hidden = contaminated(*options.size, options.seed)
    dcra.minimize(
        A, b, starts=1, seed=0
    )  # loads the compiled loops, so that the picture shows the search only
    result = dcra.minimize(A, b, time_limit=options.seconds, seed=options.seed)
    print(result)
    print(f"{'bits wrong':>12}  {np.count_nonzero(result.x != hidden)}")

    figure = new_figure()
    ax = result.plot(figure.subplots())
    n, r = options.size
    ax.set_title(f"{n} hidden bits, {r} measurements, 30 % of them garbage")
    level = np.abs(A @ hidden - b).sum()
    ax.axhline(level, color="#57606a", linewidth=1, linestyle=":", label=f"the hidden x: {level:.6g}")
    ax.legend(frameon=False)
    figure.savefig(options.output, dpi=150)


if __name__ == "__main__":
    main()
