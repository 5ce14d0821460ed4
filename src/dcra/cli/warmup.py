"""`dcra warmup`: compile the loops before they are needed."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np

LARGE, SMALL, ROWS = 48, 21, 20
"""Variables: more than enumeration takes, and few enough for it. Rows of either."""


@click.command()
@click.option("--quiet", is_flag=True, help="Print nothing.")
def warmup(quiet: bool) -> None:
    """Compile the inner loops ahead, once per installation.

    A first solve otherwise spends some seconds on it; under a short time limit it would rather do without
    compiled loops.
    """
    from dcra.api import minimize
    from dcra.methods import METHODS

    begin = time.perf_counter()
    for storage in ("dense", "sparse"):
        for method in METHODS:
            start = time.perf_counter()
            A = matrix(storage, SMALL if method == "enumerate" else LARGE)
            minimize(A, np.ones(ROWS), method=method, starts=1, seed=0, n_jobs=1)
            if not quiet:
                click.echo(f"{storage:<8}{method:<14}{time.perf_counter() - start:6.1f} s")
    if not quiet:
        click.echo(f"compiled loops are ready ({time.perf_counter() - begin:.1f} s)")


def matrix(storage: str, n: int) -> Any:
    """A small matrix whose storage the loops keep."""
    A = np.random.default_rng(0).standard_normal((ROWS, n))
    if storage == "dense":
        return A
    from scipy import sparse

    return sparse.csc_array(np.where(np.arange(n) % ROWS == np.arange(ROWS)[:, None], A, 0.0))
