"""The table of weights found, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from .measures import RESULTS, chosen, rows_of
from .pages import computes

PUBLISHED = (RESULTS / "regression" / "rows.jsonl.gz").exists()
METHODS = ("l1", "l1-capped", "lp", "huber", "ridge", "lasso")

if_published = pytest.mark.skipif(not PUBLISHED, reason="its rows are not published yet")


def found(method: str, percent: int) -> np.ndarray:
    """Shares of weights found, by data set."""
    rows = chosen(rows_of("regression"), method=method, percent=percent)
    return np.asarray([row["found"] for row in sorted(rows, key=lambda row: row["instance"])])


def bar(method: str, percent: int) -> float:
    """Two standard errors."""
    shares = found(method, percent)
    return float(2 * shares.std(ddof=1) / np.sqrt(shares.size))


def cell(method: str, percent: int) -> str:
    """The mean."""
    return f"{found(method, percent).mean():.3f}".removeprefix("0")


@if_published
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


@if_published
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
    for percent in (20, 30, 40):
        least = found("l1-capped", percent).mean() - bar("l1-capped", percent)
        assert all(least > found(m, percent).mean() + bar(m, percent) for m in METHODS[2:])
    assert max(found(method, 50).mean() for method in METHODS) < 0.8
