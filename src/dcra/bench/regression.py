"""Robust regression: weights of +-1 from rows of which a share is badly wrong, against rounding real weights.

y = X w + noise, and on some of the rows an error of random sign, 5 to 15 times as large as a typical Xw.
Everything is fitted on all rows; only the judge sees which weights were planted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.compare import grouped, mean
from dcra.bench.sections import Figure, Panel, ReportTable, Section, Series, Text
from dcra.losses import CappedL1

N_WEIGHTS, N_ROWS, NOISE = 40, 120, 3.0
STARTS = 8
FIRST = 100
"""The first number of an instance: settings were chosen on numbers below it."""

SMALL_COUNT, FULL_COUNT = 2, 20


def drawn(instance: str) -> tuple[Host, Host, Host]:
    """X, y and the planted weights of a name: the per cent of rows that are hit, and a number."""
    percent, number = map(int, instance.split("-"))
    rng = np.random.default_rng((number, percent))
    X = rng.normal(size=(N_ROWS, N_WEIGHTS))
    w = rng.choice([-1.0, 1.0], N_WEIGHTS)
    y = X @ w + NOISE * rng.normal(size=N_ROWS)
    hit = rng.choice(N_ROWS, round(percent / 100 * N_ROWS), replace=False)
    y[hit] += rng.choice([-1.0, 1.0], hit.size) * rng.uniform(5, 15, hit.size) * np.sqrt(N_WEIGHTS)
    return X, y, w


def l1(X: Host, y: Host) -> Host:
    """`BinaryRegressor` as it comes."""
    return np.asarray(_binary("l1", X, y).coef_)


def l1_capped(X: Host, y: Host) -> Host:
    """l1 first; then no residual costs more than two robust scales of that fit."""
    scale = _binary("l1", X, y).outliers(X, y).scale
    return np.asarray(_binary(CappedL1(2 * scale), X, y).coef_)


def lp(X: Host, y: Host) -> Host:
    """Signs of the weights in [-1,1] with the least l1 error: a linear program."""
    from scipy.optimize import linprog

    r, n = X.shape
    cost = np.repeat([0.0, 1.0], [n, 2 * r])
    parts = np.hstack([X, -np.eye(r), np.eye(r)])
    bounds = [(-1.0, 1.0)] * n + [(0.0, None)] * (2 * r)
    found: Any = linprog(cost, A_eq=parts, b_eq=y, bounds=bounds)
    return _signs(found.x[:n])


def huber(X: Host, y: Host) -> Host:
    """Signs of Huber's real weights."""
    from sklearn.linear_model import HuberRegressor

    return _signs(HuberRegressor(fit_intercept=False, max_iter=1000).fit(X, y).coef_)


def ridge(X: Host, y: Host) -> Host:
    """Signs of real weights, their squares at a price that is cross-validated."""
    from sklearn.linear_model import RidgeCV

    return _signs(RidgeCV(np.logspace(-2, 4, 13), fit_intercept=False).fit(X, y).coef_)


def lasso(X: Host, y: Host) -> Host:
    """Signs of real weights, their sizes at a price that is cross-validated."""
    from sklearn.linear_model import LassoCV

    prices = np.logspace(-2, 1.5, 15)
    return _signs(LassoCV(alphas=prices, fit_intercept=False, max_iter=10_000).fit(X, y).coef_)


METHODS: dict[str, Callable[[Host, Host], Host]] = {
    "l1": l1,
    "l1-capped": l1_capped,
    "lp": lp,
    "huber": huber,
    "ridge": ridge,
    "lasso": lasso,
}


class Regression(Benchmark):
    """Shares of the planted weights that are found."""

    name = "regression"
    summary = "Robust regression: planted weights found, against rounding real weights"
    sizes = ("0", "10", "20", "30", "40", "50")
    methods = tuple(METHODS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        count = choice.instances or (SMALL_COUNT if choice.preset == "small" else FULL_COUNT)
        for size in choice.sizes or self.sizes:
            for number in range(FIRST, FIRST + count):
                for method in choice.methods or self.methods:
                    yield Case(f"{size}-{number}", method)

    def warm(self, case: Case) -> None:
        with suppress(Skip):
            fitted(case.method, *drawn("0-0")[:2])

    def run(self, case: Case) -> Row:
        X, y, w = drawn(case.instance)
        wall, cpu = time.perf_counter(), time.process_time()
        x = fitted(case.method, X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {
            "fun": float(np.abs(X @ x - y).sum()),
            "planted": float(np.abs(X @ w - y).sum()),
            "found": float(np.mean(x == w)),
            "percent": int(case.instance.partition("-")[0]),
            "wall": wall,
            "cpu": cpu,
        }

    def message(self, rows: Sequence[Row]) -> str:
        parts = {p: grouped(group, "method") for p, group in sorted(grouped(rows, "percent").items())}
        told = [f"where {p} per cent of the rows are hit, {_shares(parts[p])}" for p in list(parts)[-2:]]
        return f"Shares of the planted weights that are found: {'; '.join(told)}. " + _words_of_lead(rows)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        names = [name for name in self.methods if any(row["method"] == name for row in rows)]
        groups = grouped(rows, "percent", "method")
        percents = sorted({row["percent"] for row in rows})
        found = [[p, *(mean(groups.get((p, name), []), "found") for name in names)] for p in percents]
        above = [[p, *(_over_planted(groups.get((p, name), [])) for name in names)] for p in percents]
        columns = ["per cent of rows hit", *names]
        return [
            Text("Robust regression", [" ".join(_words().split())]),
            Figure(
                "Planted weights found",
                [Panel("", "per cent of rows hit", "share", [_curve(name, rows) for name in names])],
                caption="means; bars are two standard errors",
            ),
            ReportTable(
                "Planted weights found", columns, found, caption="mean shares", best="max", best_from=1
            ),
            ReportTable(
                "l1 error", columns, above, caption="mean of the l1 error over that of the planted weights"
            ),
        ]


def fitted(method: str, X: Host, y: Host) -> Host:
    """The weights of a method; `Skip` where scikit-learn is missing."""
    try:
        return METHODS[method](X, y)
    except ImportError as error:
        raise Skip(str(error)) from error


def spread(values: Sequence[float]) -> float:
    """The standard error of a mean; 0 of a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _binary(loss: Any, X: Host, y: Host) -> Any:
    from dcra.apps import BinaryRegressor

    return BinaryRegressor(loss, starts=STARTS, random_state=0).fit(X, y)


def _signs(weights: Any) -> Host:
    return np.where(np.asarray(weights) >= 0, 1.0, -1.0)


def _shares(groups: dict[Any, list[Row]]) -> str:
    """Of each method, the highest first."""
    means = {name: float(np.mean([row["found"] for row in rows])) for name, rows in groups.items()}
    return ", ".join(f"{name} {means[name]:.0%}" for name in sorted(means, key=lambda name: -means[name]))


def _words_of_lead(rows: Sequence[Row]) -> str:
    """On how many data sets nobody finds more than the first of those who fit l1."""
    cases = [grouped(group, "method") for group in grouped(rows, "instance").values()]
    best = [case for case in cases if "l1-capped" in case]
    held = sum(
        case["l1-capped"][0]["found"] >= max(group[0]["found"] for group in case.values()) for case in best
    )
    return f"On {held} of {len(best)} data sets none finds more than l1-capped."


def _over_planted(rows: Sequence[Row]) -> float | None:
    return float(np.mean([row["fun"] / row["planted"] for row in rows])) if rows else None


def _curve(name: str, rows: Sequence[Row]) -> Series:
    groups = sorted(grouped([row for row in rows if row["method"] == name], "percent").items())
    found = [[row["found"] for row in group] for _, group in groups]
    means, bars = [float(np.mean(part)) for part in found], [2 * spread(part) for part in found]
    low, high = ([m + sign * b for m, b in zip(means, bars, strict=True)] for sign in (-1, 1))
    percents = [percent for percent, _ in groups]
    return Series(name, percents, means, low, high, bars=True, strong=name.startswith("l1"))


def _words() -> str:
    return f"""{N_WEIGHTS} planted weights of +-1, {N_ROWS} rows of normal X, normal noise of {NOISE:g}, and
    on a share of the rows an error of random sign, 5 to 15 times as large as a typical Xw. l1 is
    BinaryRegressor as it comes; l1-capped caps the loss at two robust scales of that fit; lp is the linear
    program with weights in [-1,1]; huber, ridge and lasso are scikit-learn's, the last two with
    cross-validated prices. Real weights are rounded by their signs."""
