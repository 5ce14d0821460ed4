"""What `dcra demo` shows: hidden bits that are to be found, and rivals on a random instance of the paper."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from dcra._array import Host
from dcra.api import minimize, solve
from dcra.bench.floor import l1_floor, l1_random
from dcra.compiled.form import Compiled
from dcra.engines import DCRA, Engine
from dcra.model.operators import norm_estimate
from dcra.model.problem import Problem
from dcra.model.term import Term
from dcra.result import Result, Status
from dcra.search.threads import one_blas_thread

if TYPE_CHECKING:
    from rich.console import Console


HIDDEN = (300, 600, 0.3)
"""Bits, measurements and share of garbage in the first problem."""

PAPER = (300, 500)
"""Variables and rows of the second."""


class OneByOne(DCRA):
    """The paper's method with its starts one after another, so that some are finished in a short time."""

    def batch(self, compiled: Compiled) -> int:
        return 1


SEARCHES: dict[str, str | Engine] = {
    "one-flip descent": "flip",
    "the paper's DCRA": OneByOne.paper(),
    "method auto": "auto",
}


@dataclass(frozen=True)
class Entry:
    """A line of the table."""

    name: str
    fun: float
    seconds: float
    note: str
    lower_bound: float = -inf
    result: Result | None = None


def present(console: Console, seconds: float, seed: int, picture: str) -> None:
    """Run the demo, `seconds` for each method."""
    show_recovery(console, seed)
    console.print()
    entries = show_rivals(console, seconds, seed)
    draw(console, entries, picture)


def show_recovery(console: Console, seed: int) -> None:
    """Hidden bits out of contaminated measurements."""
    n, r, share = HIDDEN
    A, b, truth = contaminated(seed)
    console.print(f"[bold]1. {n} hidden bits, {r} measurements, {share:.0%} of them garbage[/]")
    console.print("   b = A x + noise. Minimise |Ax - b|_1 over x in {-1,1}^n.\n")
    least = np.where(np.linalg.lstsq(A, b)[0] > 0, 1.0, -1.0)
    with working(console, "method auto"):
        result = complete(minimize(A, b, starts=8, seed=seed))
    console.print(f"   least squares, rounded  {np.count_nonzero(least != truth):5d} bits wrong")
    console.print(f"   method auto             {np.count_nonzero(result.x != truth):5d} bits wrong\n")
    console.print(f"   objective {result.fun:.6g}, found and certified in {result.seconds:.2f} s:")
    console.print(f"   no x is below {result.lower_bound:.6g} (gap {result.gap:.2%})")


def show_rivals(console: Console, seconds: float, seed: int) -> list[Entry]:
    """A random instance of the paper, on which nothing is hidden and everything is hard."""
    n, d = PAPER
    problem, floor = gaussian(seed), l1_floor(n, d)
    console.print(f"[bold]2. A random instance of the paper: {n} variables, {d} rows, all N(0,1)[/]")
    console.print(
        f"   Minimise |Ax - b|_1; every method has {seconds:g} s. Random signs have {l1_random(n, d):.0f}"
    )
    console.print(f"   on average; below {floor:.0f}, the floor, an x almost surely does not exist.\n")
    entries = []
    for rival in (random_signs, rounded_relaxation):
        with working(console, rival.__name__.replace("_", " ")), one_blas_thread():
            entries.append(rival(problem, seconds, seed))
    for name in SEARCHES:
        with working(console, name):
            entries.append(searched(name, problem, seconds, seed))
    console.print(table(entries, floor))
    bound = max(entry.lower_bound for entry in entries)
    console.print(f"   Certified for this instance: no x is below {bound:.6g}.")
    return entries


def contaminated(seed: int) -> tuple[Host, Host, Host]:
    """A, b and the hidden x: noise of size .5 on every row, errors of size 50 on some."""
    n, r, share = HIDDEN
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r, n))
    truth = rng.choice([-1.0, 1.0], n)
    garbage = rng.random(r) < share
    b = A @ truth + 0.5 * rng.standard_normal(r) + 50 * garbage * rng.standard_normal(r)
    return A, b, truth


def gaussian(seed: int) -> Problem:
    n, d = PAPER
    rng = np.random.default_rng(seed)
    return Problem([Term("l1", rng.standard_normal((d, n)), rng.standard_normal(d))])


def random_signs(problem: Problem, seconds: float, seed: int) -> Entry:
    """The best of as many random points as the time allows."""
    rng, best, count = np.random.default_rng(seed), inf, 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        draws = np.where(rng.random((64, problem.n)) < 0.5, -1.0, 1.0)
        best, count = min(best, float(np.min(problem.objective(draws)))), count + len(draws)
    return Entry("random signs", best, time.perf_counter() - begin, f"best of {count}")


def rounded_relaxation(problem: Problem, seconds: float, seed: int) -> Entry:
    """The signs of argmin |Ax - b|_2 over the box [-1,1]^n, by accelerated projected gradients."""
    (term,) = problem.terms
    begin = time.perf_counter()
    step = 1 / (1.1 * norm_estimate(term.operator)) ** 2  # the estimate is a few per cent low
    x = y = np.zeros(problem.n)
    momentum, count, moved = 1.0, 0, inf
    while time.perf_counter() - begin < seconds and moved > 1e-9:
        ahead = np.clip(y - step * ((term.A @ y - term.b) @ term.A), -1, 1)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        moved = float(np.max(np.abs(ahead - x)))
        y, x = ahead + (momentum - 1) / following * (ahead - x), ahead
        momentum, count = following, count + 1
    fun = problem.objective(np.where(x >= 0, 1.0, -1.0))
    return Entry("rounded relaxation", fun, time.perf_counter() - begin, f"{count} steps")


def searched(name: str, problem: Problem, seconds: float, seed: int) -> Entry:
    result = complete(solve(problem, method=SEARCHES[name], time_limit=seconds, seed=seed))
    return Entry(name, result.fun, result.seconds, f"{result.n_starts} starts", result.lower_bound, result)


def table(entries: list[Entry], floor: float) -> Any:
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, collapse_padding=True)
    shown.add_column("method", no_wrap=True)
    for title in ("objective", "above floor", "bound", "seconds"):
        shown.add_column(title, justify="right")
    shown.add_column("work", no_wrap=True)
    best = min(entry.fun for entry in entries)
    for entry in entries:
        bound = "" if entry.lower_bound == -inf else f"{entry.lower_bound:.0f}"
        cells = (
            f"{entry.fun:.1f}",
            f"{entry.fun / floor - 1:.1%}",
            bound,
            f"{entry.seconds:.2f}",
            entry.note,
        )
        shown.add_row(entry.name, *cells, style="bold" if entry.fun == best else None)
    return shown


def draw(console: Console, entries: list[Entry], picture: str) -> None:
    """The histories of all methods that have one, if matplotlib is there."""
    if find_spec("matplotlib") is None:
        console.print("   No picture: matplotlib is not installed (pip install 'dcra\\[plot]').")
        return
    from dcra.plotting import new_figure, plot_comparison

    n, d = PAPER
    figure = new_figure()
    results = {entry.name: entry.result for entry in entries if entry.result is not None}
    levels = {"floor": l1_floor(n, d), "random signs": l1_random(n, d)}
    plot_comparison(results, levels, figure.subplots())
    try:
        figure.savefig(picture, dpi=150)
    except OSError as error:
        console.print(f"   No picture: {picture}: {error.strerror or error}")
        return
    console.print(f"   Objectives over time are drawn in {picture}.")


def complete(result: Result) -> Result:
    """The result, unless the user wanted to stop."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


@contextmanager
def working(console: Console, what: str) -> Iterator[None]:
    """A spinner on a terminal, nothing elsewhere."""
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield
