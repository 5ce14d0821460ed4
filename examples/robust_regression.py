"""Binary weights from data with gross outliers: BinaryRegressor against fitting real weights and rounding.

    python examples/robust_regression.py --seeds 20 --picture robust_regression.png

y = X w + noise with w in {-1,1}^40 and 120 rows, of which a share is hit by errors 5 to 15 times as large
as a typical Xw. "auto" is BinaryRegressor with its default method. Measured: the share of the planted weights
found, and the l1 objective over that of the planted weights. Everything is fitted on all rows, outliers
included; only the scoring sees what was planted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import HuberRegressor, LassoCV, RidgeCV

from dcra.apps import BinaryRegressor
from dcra.losses import CappedL1

N_WEIGHTS, N_ROWS, NOISE = 40, 120, 3.0
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
FIRST_SEED = 100  # the settings below were chosen on seeds 0 to 9
QUICK: dict[str, Any] = {"starts": 8, "random_state": 0}

Array = np.ndarray[Any, Any]


def make_data(level: float, seed: int) -> tuple[Array, Array, Array]:
    """X, y and the planted weights."""
    rng = np.random.default_rng((seed, round(100 * level)))
    X = rng.normal(size=(N_ROWS, N_WEIGHTS))
    w = rng.choice([-1.0, 1.0], N_WEIGHTS)
    y = X @ w + NOISE * rng.normal(size=N_ROWS)
    hit = rng.choice(N_ROWS, round(level * N_ROWS), replace=False)
    y[hit] += rng.choice([-1.0, 1.0], hit.size) * rng.uniform(5, 15, hit.size) * np.sqrt(N_WEIGHTS)
    return X, y, w


def binary_l1(X: Array, y: Array) -> Array:
    return BinaryRegressor("l1", **QUICK).fit(X, y).coef_


def binary_capped(X: Array, y: Array) -> Array:
    """l1 first; then no residual costs more than two robust scales of that fit."""
    scale = BinaryRegressor("l1", **QUICK).fit(X, y).outliers(X, y).scale
    return BinaryRegressor(CappedL1(2 * scale), **QUICK).fit(X, y).coef_


def relaxed_l1(X: Array, y: Array) -> Array:
    """Signs of the weights in [-1,1]^n with the least l1 error: a linear program."""
    r, n = X.shape
    cost = np.repeat([0.0, 1.0], [n, 2 * r])
    parts = np.hstack([X, -np.eye(r), np.eye(r)])
    bounds = [(-1.0, 1.0)] * n + [(0.0, None)] * (2 * r)
    return np.where(linprog(cost, A_eq=parts, b_eq=y, bounds=bounds).x[:n] >= 0, 1.0, -1.0)


def rounded(model: Any) -> Callable[[Array, Array], Array]:
    """Signs of a linear model's real weights; a weight of 0 counts as +1."""
    return lambda X, y: np.where(model.fit(X, y).coef_ >= 0, 1.0, -1.0)


METHODS: dict[str, Callable[[Array, Array], Array]] = {
    "auto, l1": binary_l1,
    "auto, l1 then capped": binary_capped,
    "l1 relaxed (LP), rounded": relaxed_l1,
    "Huber, rounded": rounded(HuberRegressor(fit_intercept=False, max_iter=1000)),
    "ridge (CV), rounded": rounded(RidgeCV(np.logspace(-2, 4, 13), fit_intercept=False)),
    "lasso (CV), rounded": rounded(
        LassoCV(alphas=np.logspace(-2, 1.5, 15), fit_intercept=False, max_iter=10_000)
    ),
}


def measure(levels: Sequence[float], seeds: Sequence[int]) -> tuple[Array, Array]:
    """Shares recovered and objective ratios, each of shape (methods, levels, seeds)."""
    shares = np.empty((len(METHODS), len(levels), len(seeds)))
    ratios = np.empty_like(shares)
    for i, level in enumerate(levels):
        for k, seed in enumerate(seeds):
            X, y, w = make_data(level, seed)
            truth = np.sum(np.abs(X @ w - y))
            for m, method in enumerate(METHODS.values()):
                x = method(X, y)
                shares[m, i, k] = np.mean(x == w)
                ratios[m, i, k] = np.sum(np.abs(X @ x - y)) / truth
    return shares, ratios


def standard_error(values: Array) -> Array:
    """Of the mean over seeds; 0 for a single one."""
    n = values.shape[-1]
    return values.std(axis=-1, ddof=1) / np.sqrt(n) if n > 1 else np.zeros(values.shape[:-1])


def print_table(title: str, values: Array, levels: Sequence[float]) -> None:
    print(f"\n{title}")
    print(f"{'outliers':<26}" + "".join(f"{level:>16.0%}" for level in levels))
    mean, error = values.mean(axis=-1), standard_error(values)
    for name, row, errors in zip(METHODS, mean, error, strict=True):
        cells = (f"{v:.3f} +- {e:.3f}" for v, e in zip(row, errors, strict=True))
        print(f"{name:<26}" + "".join(f"{cell:>16}" for cell in cells))


def draw(path: str, shares: Array, levels: Sequence[float]) -> None:
    """Share recovered against contamination; bars are two standard errors."""
    from matplotlib.figure import Figure

    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00")  # Okabe and Ito's, and grey
    markers = ("o", "s", "^", "D", "v", "X")
    figure = Figure(figsize=(8.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    mean, bars = shares.mean(axis=-1), 2 * standard_error(shares)
    for m, name in enumerate(METHODS):
        ours = name.startswith("auto")
        axes.errorbar(
            100 * np.asarray(levels) + 0.45 * (m - 2.5),  # side by side, so that no bar hides another
            100 * mean[m],
            100 * bars[m],
            color=colours[m],
            marker=markers[m],
            linestyle="-" if ours else "--",
            linewidth=2.4 if ours else 1.4,
            markersize=7 if ours else 6,
            capsize=3,
            label=name,
            zorder=3 if ours else 2,
        )
    axes.axhline(50, color="#999999", linewidth=1, linestyle=":")
    axes.text(0, 49, "guessing", color="#666666", va="top", ha="left", fontsize=9)
    axes.set_xlabel("rows hit by gross errors (%)")
    axes.set_ylabel("planted weights found (%)")
    axes.set_title(f"{N_WEIGHTS} weights of ±1 from {N_ROWS} rows, {shares.shape[-1]} data sets per point")
    axes.set_xticks([100 * level for level in levels])
    axes.set_ylim(42, 103)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="data sets per level (default 5)")
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS, help="shares of rows hit")
    parser.add_argument("--picture", help="where to write the picture")
    options = parser.parse_args(argv)
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    shares, ratios = measure(options.levels, seeds)
    print(
        f"{N_WEIGHTS} weights, {N_ROWS} rows, noise {NOISE:g}, "
        f"seeds {seeds[0]} to {seeds[-1]}; mean +- standard error"
    )
    print_table("share of planted weights found", shares, options.levels)
    print_table("l1 objective, planted weights = 1", ratios, options.levels)
    if options.picture:
        draw(options.picture, shares, options.levels)
        print(f"\npicture: {options.picture}")


if __name__ == "__main__":
    main()
