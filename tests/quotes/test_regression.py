"""The table of weights found, and what is said of it."""

from __future__ import annotations

import numpy as np

from .measures import chosen, rows_of
from .pages import computes

METHODS = ("l1", "l1-capped", "lp", "huber", "ridge", "lasso")


def found(method: str, percent: int) -> np.ndarray:
    """Shares of weights found, by data set."""
    rows = chosen(rows_of("regression"), method=method, percent=percent)
    return np.asarray([row["found"] for row in sorted(rows, key=lambda row: row["instance"])])


def bar(method: str, percent: int) -> float:
    """Two standard errors."""
    shares = found(method, percent)
    return float(2 * shares.std(ddof=1) / np.sqrt(shares.size))


def ahead(method: str, percent: int) -> bool:
    """Whether it is the best, and its bar touches that of no method which does not fit l1 first."""
    mean, others = found(method, percent).mean(), METHODS[2:]
    return mean == max(found(m, percent).mean() for m in METHODS) and all(
        mean - bar(method, percent) > found(m, percent).mean() + bar(m, percent)
        for m in others
        if m != method
    )


def cell(method: str, percent: int) -> str:
    """The mean, in bold if it is ahead."""
    mean = f"{found(method, percent).mean():.3f}".removeprefix("0")
    return f"**{mean}**" if ahead(method, percent) else mean


@computes("docs/regression.md", "| share of rows hit |")
def test_the_table_of_weights_found(head, body):
    percents = [int(title.split()[0]) for title in head[1:]]
    assert percents == [0, 10, 20, 30, 40, 50]
    assert all(len(found(method, 0)) == 20 for method in METHODS)
    names = [line[0] for line in body]
    return [
        [name, *(cell(method, percent) for percent in percents)]
        for name, method in zip(names, METHODS, strict=True)
    ]


def test_where_it_does_not_win():
    for method in ("ridge", "lasso"):
        assert found(method, 0).min() == 1
    for percent in (40, 50):
        more = found("lp", percent).mean() - found("l1", percent).mean()
        assert 0 < more < bar("l1", percent) + bar("lp", percent)
        errors = [
            np.mean([row["fun"] / row["planted"] for row in rows])
            for method in ("l1", "lp")
            for rows in [chosen(rows_of("regression"), method=method, percent=percent)]
        ]
        assert errors[0] < min(errors[1], 1)
    assert all(ahead("l1-capped", percent) for percent in (20, 30, 40))
    assert max(found(method, 50).mean() for method in METHODS) < 0.8
