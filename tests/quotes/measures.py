"""What the documents quote, computed again from the rows in docs/results.

A measure takes the finished rows of one set and its arguments, and returns the numbers of a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from dcra.bench import bcs_paper
from dcra.bench import rows as files
from dcra.bench.against import fights
from dcra.bench.base import Row
from dcra.bench.compare import grouped, sign
from dcra.bench.exact_families import FAMILIES
from dcra.bench.gaussian import size_of
from dcra.bench.mimo_report import behind, best_of, gathered
from dcra.bench.paper import PAPER
from dcra.bench.sensitivity_words import Level, around, levels

from .pages import ROOT

RESULTS = ROOT / "docs" / "results"
Rows = Sequence[Row]


@cache
def rows_of(name: str) -> tuple[Row, ...]:
    """The finished rows of a published set."""
    return tuple(row for row in files.read(RESULTS / name) if row.get("status", "ok") == "ok")


def chosen(rows: Rows, **fields: Any) -> list[Row]:
    """Rows with these values; "own" is the budget or factor None."""
    wanted = {name: None if value == "own" else value for name, value in fields.items()}
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def count(rows: Rows, **fields: Any) -> list[float]:
    """How many rows have these values."""
    return [len(chosen(rows, **fields))]


def wins(rows: Rows, method: str, rival: str, **fields: Any) -> list[float]:
    """Strict wins in per cent."""
    return [100 * fights(method, chosen(rows, **fields))[rival].wins]


def no_worse(rows: Rows, method: str, rival: str, **fields: Any) -> list[float]:
    """Wins and ties in per cent."""
    found = fights(method, chosen(rows, **fields))[rival]
    return [100 * (found.wins + found.ties)]


def difference(rows: Rows, method: str, rival: str, **fields: Any) -> list[float]:
    """The mean relative difference in per cent."""
    found = fights(method, chosen(rows, **fields))[rival].difference
    assert found is not None
    return [100 * found]


def span_over_floor(rows: Rows, methods: Sequence[str], **fields: Any) -> list[float]:
    """Least and largest mean objective of these methods, over sizes, in units of the floor."""
    part = [row for row in chosen(rows, **fields) if row["method"] in methods]
    means = [
        np.mean([row["fun"] / row["floor"] for row in g]) for g in grouped(part, "size", "method").values()
    ]
    return [float(min(means)), float(max(means))]


def most_above_auto(rows: Rows, methods: Sequence[str], **fields: Any) -> list[float]:
    """By how many per cent the mean objective of the worst of these methods is above that of "auto"."""
    means = [np.mean([row["fun"] for row in chosen(rows, method=m, **fields)]) for m in ("auto", *methods)]
    return [100 * float(max(means) / means[0] - 1)]


def share_of_printed(rows: Rows, method: str, **fields: Any) -> list[float]:
    """Least and largest mean objective of a method over the paper's printed one for DCRA."""
    groups = grouped(chosen(rows, method=method, **fields), "size")
    shares = [np.mean([row["fun"] for row in g]) / PAPER[size_of(size)].dcra for size, g in groups.items()]
    return [float(min(shares)), float(max(shares))]


def off_printed(rows: Rows, column: str, method: str) -> list[float]:
    """Largest distance in per cent of our means, at the paper's seconds, from a printed column."""
    worst = 0.0
    for size, group in grouped(rows, "size").items():
        printed = getattr(PAPER[size_of(size)], column)
        if method == "random signs":
            values = [found[0]["random"] for found in grouped(group, "instance").values()]
        else:
            values = [row["fun"] for row in chosen(group, method=method, factor=1.0)]
        if values:
            worst = max(worst, abs(float(np.mean(values)) / printed - 1))
    return [100 * worst]


def cpu(rows: Rows, **fields: Any) -> list[float]:
    """CPU seconds of all such rows."""
    return [sum(row["cpu"] for row in chosen(rows, **fields))]


def grid_cpu(rows: Rows) -> list[float]:
    """CPU seconds of the rows of sensing that are not at the thresholds."""
    return cpu([row for row in rows if not row.get("edge")])


def mean_cpu(rows: Rows, **fields: Any) -> list[float]:
    """Mean CPU seconds of such rows."""
    part = chosen(rows, **fields)
    return [sum(row["cpu"] for row in part) / len(part)]


def overrun(rows: Rows, budgets: Sequence[float], **fields: Any) -> list[float]:
    """For each of these budgets, by how many per cent the longest of such calls passed it."""
    found = grouped(chosen(rows, **fields), "budget")
    return [100 * (max(row["wall"] for row in found[budget]) / budget - 1) for budget in budgets]


def mean_fun(rows: Rows, **fields: Any) -> list[float]:
    """The mean objective of such rows."""
    return [float(np.mean([row["fun"] for row in chosen(rows, **fields)]))]


def reached(rows: Rows, most: int, above: int = 0, within: str = "", **fields: Any) -> list[float]:
    """Of files in a range of sizes: how many are listed, how many reach that, mean and largest gap in %."""
    part = [row for row in chosen(rows, **fields) if row["listed"] and row["instance"].startswith(within)]
    part = [row for row in part if above < row["n"] <= most]
    gaps = [_gap(row) for row in part]
    return [len(gaps), sum(gap <= 0 for gap in gaps), float(np.mean(gaps)), max(gaps)]


def _gap(row: Row) -> float:
    """How far an objective is above the best listed value, in per cent of it."""
    listed = min(row["listed"])
    return float(100 * (row["fun"] - listed) / (abs(listed) or 1))


def gap(rows: Rows, instance: str, **fields: Any) -> list[float]:
    """The mean gap of such rows of a file in per cent."""
    return [float(np.mean([_gap(row) for row in chosen(rows, instance=instance, **fields)]))]


def near(
    rows: Rows, percent: float, within: str, most: float = np.inf, above: int = 0, **fields: Any
) -> list[float]:
    """How many files of a range of sizes come as near to their listed value, and how many files there are."""
    gaps = _gaps(chosen(rows, **fields), within, above, most)
    return [sum(one <= percent for one in gaps), len(gaps)]


def farthest(rows: Rows, within: str, most: float = np.inf, above: int = 0, **fields: Any) -> list[float]:
    """The largest gap of files of a range of sizes."""
    return [max(_gaps(chosen(rows, **fields), within, above, most))]


def _gaps(rows: Rows, within: str, above: int, most: float) -> list[float]:
    """Gaps of files of a folder and a range of sizes."""
    part = [row for row in rows if row.get("listed") and row["instance"].startswith(within)]
    return [_gap(row) for row in part if above < row["n"] <= most]


def disputed(rows: Rows, **fields: Any) -> list[float]:
    """On how many files lists disagree."""
    lists = {row["instance"]: set(row["listed"]) for row in chosen(rows, **fields)}
    return [sum(len(values) > 1 for values in lists.values())]


def lists_and_best(rows: Rows, instance: str, sign: int = 1) -> list[float]:
    """The listed values of a file, best first, and the best of all its rows; sign -1 where more is better."""
    part = chosen(rows, instance=instance)
    listed = sorted(set(part[0]["listed"]))
    return [sign * value for value in (*listed, min(row["fun"] for row in part))]


def bounds_above(rows: Rows, names: Sequence[str], **fields: Any) -> list[float]:
    """How far proved bounds of these graphs are above their listed values, in per cent: least and most."""
    part = [row for name in names for row in chosen(rows, instance=f"gset/{name}.txt", **fields)]
    above = [100 * (row["bound"] / min(row["listed"]) - 1) for row in part]
    return [min(above), max(above)]


def reached_after(rows: Rows, **fields: Any) -> list[float]:
    """Seconds after which the last of such files had its listed value."""
    part = [row for row in chosen(rows, **fields) if row["listed"]]
    return [max(min(t for t, fun in row["history"] if fun <= min(row["listed"])) for row in part)]


def evaluated(rows: Rows, tells: Sequence[str], **fields: Any) -> list[float]:
    """Counts of Max-SAT files: all, at a proven optimum, with one, no worse than was known, better, at their
    own bound."""
    part = [row for row in chosen(rows, **fields) if row["best_known"] is not None]
    proven = [row for row in part if row["optimum"] is not None]
    above = [row["fun"] - row["best_known"] for row in part]
    found = {
        "files": len(part),
        "reached": sum(row["fun"] == row["optimum"] for row in proven),
        "proven": len(proven),
        "held": sum(gap <= 0 for gap in above),
        "better": sum(gap < 0 for gap in above),
        "closed": sum(row["cost"] == row["bound"] for row in part),
    }
    return [found[name] for name in tells]


def costs(rows: Rows, instance: str, methods: Sequence[str]) -> list[float]:
    """What each method leaves on an instance."""
    return [one["cost"] for m in methods for one in chosen(rows, instance=instance, method=m)]


def means_of(rows: Rows, methods: Sequence[str], **fields: Any) -> list[float]:
    """The mean objective of each method."""
    return [mean for m in methods for mean in mean_fun(rows, method=m, **fields)]


def feasible(rows: Rows, **fields: Any) -> list[float]:
    """How many answers are feasible, of how many."""
    part = chosen(rows, **fields)
    return [sum(row["feasible"] for row in part), len(part)]


def best_of_groups(rows: Rows, alone: bool = False, **fields: Any) -> list[int]:
    """On how many instances `auto` is no worse than every other method, or better, and how many there are."""
    fine = [row for row in chosen(rows, **fields) if row.get("feasible", True)]
    held = []
    for group in grouped(fine, "instance", "budget").values():
        ours = [row["fun"] for row in group if row["method"] == "auto"]
        least = min((row["fun"] for row in group if row["method"] != "auto"), default=np.inf)
        held.append(bool(ours) and sign(ours[0], least) <= -int(alone))
    return [sum(held), len(held)]


def at_most_seconds(rows: Rows, seconds: int) -> list[Row]:
    """Rows of so many seconds, and longer ones of `auto` that ended solved by then, of the same instances."""
    short = [row for row in rows if round(row["budget"]) == seconds]
    known = {(row["instance"], row["method"]) for row in short}
    longer = [row for row in chosen(rows, method="auto", solved=True) if row["wall"] <= seconds]
    wanted = {row["instance"] for row in short}
    short += [r for r in longer if r["instance"] in wanted and (r["instance"], "auto") not in known]
    return [{**row, "budget": seconds} for row in short]


def alone_after(rows: Rows, seconds: int) -> list[int]:
    """On how many instances `auto` is better than every other method after so many seconds, of how many."""
    return best_of_groups(at_most_seconds(rows, seconds), alone=True)


def retrieval(
    rows: Rows, data: str, method: str, key: str = "map_hash", bits: Sequence[int] = (16, 32, 64, 96)
) -> list[float]:
    """Means over seeds, by bits."""
    found: dict[int, list[float]] = {}
    for row in chosen(rows, method=method):
        name, length, _ = row["instance"].split("-")
        if name == data:
            found.setdefault(int(length), []).append(row[key])
    return [float(np.mean(found[length])) for length in bits]


def _level(rows: Rows, study: str, size: str, value: float) -> Level:
    part = levels(chosen(rows, study=study, size=size))
    return next(one for one in part if abs(one.value - value) <= 1e-6 * abs(value))


def above_best(rows: Rows, study: str, size: str, value: float) -> list[float]:
    """How far a value's mean objective is above the best one, and the standard error, in per cent."""
    one = _level(rows, study, size, value)
    return [100 * one.above, 100 * one.error]


def ratio(rows: Rows, study: str, size: str, values: Sequence[float], what: str) -> list[float]:
    """The ratio of the deviations, the CPU seconds or the means at two values."""
    one, other = (_level(rows, study, size, value) for value in values)
    return [float(getattr(one, what) / getattr(other, what))]


def best_value(rows: Rows, study: str, size: str) -> list[float]:
    """The value with the lowest mean objective."""
    return [min(levels(chosen(rows, study=study, size=size)), key=lambda one: one.mean).value]


def flat(rows: Rows, study: str, size: str) -> list[float]:
    """Least and largest value of the stretch around the best in which none can be told from it."""
    run = around(levels(chosen(rows, study=study, size=size)))
    return [run[0].value, run[-1].value]


def recovered(rows: Rows, methods: Sequence[str], **fields: Any) -> list[float]:
    """Shares of signals with every bit right, in per cent, without noise."""
    part = [row for row in chosen(rows, noise=0.0, **fields) if not row.get("edge")]
    return [100 * float(np.mean([row["exact"] for row in chosen(part, method=m)])) for m in methods]


def of_coin(rows: Rows, what: str, mu: int) -> list[float]:
    """A mean objective in units of a coin flip's: of a method, of the truth, or the paper's printed DCRA."""
    part = [row for row in chosen(rows, noise=0.0, mu=mu) if not row.get("edge")]
    coin = float(np.mean([row["coin"] for row in part]))
    if what == "printed":
        return [float(np.mean(bcs_paper.OBJECTIVE[mu]["dcra"])) / coin]
    if what == "truth":
        return [float(np.mean([row["truth"] for row in part])) / coin]
    return [float(np.mean([row["fun"] for row in chosen(part, method=what)])) / coin]


def error_rate(rows: Rows, size: str, snr: int, method: str) -> list[float]:
    """Bit error rate over channels and its standard error, from the differences between channels."""
    rates = np.asarray(
        [row["wrong"] / row["bits"] for row in chosen(rows, size=size, snr=snr, method=method)]
    )
    return [float(rates.mean()), float(rates.std(ddof=1) / sqrt(rates.size))]


def at_the_edge(rows: Rows, method: str) -> dict[str, Row]:
    """The rows of a method at the thresholds, by instance."""
    return {row["instance"]: row for row in chosen(rows, edge=True, method=method)}


def program_over_recover(rows: Rows) -> list[float]:
    """The median ratio of CPU seconds, the linear program's to `recover`'s, where this found the signal."""
    ours, others = at_the_edge(rows, "recover"), at_the_edge(rows, "lp")
    found = [name for name in ours if ours[name]["exact"] and name in others]
    return [float(np.median([others[name]["cpu"] / ours[name]["cpu"] for name in found]))]


def only_by(rows: Rows, method: str, rival: str) -> list[float]:
    """Signals at the thresholds that a method recovered, and a rival did not."""
    ours, others = at_the_edge(rows, method), at_the_edge(rows, rival)
    return [sum(ours[name]["exact"] and not others[name]["exact"] for name in ours if name in others)]


def measured(rows: Rows, size: str, names: Sequence[str]) -> list[float]:
    """Fields of the last row of a size."""
    return [chosen(rows, size=size)[-1][name] for name in names]


def lazy_columns(rows: Rows) -> list[float]:
    """Right-hand sides a second, the share of one call's on each core, and memory before and at most."""
    row = next(row for row in rows if row["size"].startswith("columns"))
    return [row["rate"], row["lazily"] / row["alone"], row["held"], row["here"]]


def solved_and_refused(rows: Rows) -> list[float]:
    """Of runs of a part of the campaign: solves, calls or files, and what was refused in a sentence."""
    solved = refused = 0
    for row in rows:
        if row["instance"] == "files":
            solved += row["counts"]["tried"]
            continue
        for what, number in row["counts"].items():
            last = what.rpartition(": ")[2]
            solved += number if last.startswith("solved") or row["instance"] == "fields" else 0
            refused += number if last == "refused" else 0
    return [solved, refused]


def campaign(rows: Rows, parts: Sequence[str], commit: str = "") -> list[float]:
    """Solves, calls or files of some parts of the campaign, of one version of the code if it is named."""
    wanted = [row for row in rows if row["instance"] in parts]
    return solved_and_refused([row for row in wanted if row["environment"]["commit"].startswith(commit)])[:1]


def memory(rows: Rows) -> list[float]:
    """The most that a process which read damaged files took, in MB."""
    return [max(row["peak"] for row in rows if row["instance"] == "files")]


def limit_grid(rows: Rows, asked: float | None = None) -> list[float]:
    """Calls with time limits, how many took longer than they may, and by how many milliseconds at most."""
    grid = [row for row in rows if row["instance"] == "limits" and asked in (None, row["asked"])]
    late = [1000 * row["over"] for row in grid if row["over"] > 0]
    return [len(grid), len(late), max(late, default=0.0)]


def behind_best(rows: Rows, size: str, snr: int, method: str) -> list[float]:
    """By how many standard errors a method has more wrong bits than the best one."""
    cells = gathered(chosen(rows, size=size, snr=snr))
    return [behind(cells[size, snr, method], best_of(cells, size, snr))]


def wrong_on_common(rows: Rows, methods: Sequence[str], **fields: Any) -> list[float]:
    """Wrong bits of each method on the channels that all of them saw, and how many these are."""
    found = [{row["instance"]: row["wrong"] for row in chosen(rows, method=m, **fields)} for m in methods]
    common = set.intersection(*map(set, found))
    return [*(sum(part[name] for name in common) for part in found), len(common)]


def proofs(rows: Rows, method: str, beside: str = "") -> list[float]:
    """Of problems that rivals are given, too: how many a method proves, of those that another was given."""
    own = _compared(rows, method)
    given = own.keys() & (_compared(rows, beside) if beside else own).keys()
    return [sum(own[name]["proved"] for name in given), len(given)]


def times_as_long(rows: Rows, method: str, ours: str) -> list[float]:
    """The median ratio of CPU seconds to a proof, where both have one."""
    theirs, own = _compared(rows, method), _compared(rows, ours)
    both = [name for name in theirs if theirs[name]["proved"] and own[name]["proved"]]
    return [float(np.median([theirs[name]["cpu"] / own[name]["cpu"] for name in both]))]


def _compared(rows: Rows, method: str) -> dict[str, Row]:
    """Rows by instance, of families that rivals take."""
    found = [row for row in chosen(rows, method=method) if row["family"] in FAMILIES]
    return {row["instance"]: row for row in found if not FAMILIES[row["family"]].alone}


MEASURES: dict[str, Callable[..., list[float]]] = {
    one.__name__: one
    for one in (
        *(
            count,
            campaign,
            limit_grid,
            memory,
            program_over_recover,
            only_by,
            measured,
            lazy_columns,
            wins,
            no_worse,
            difference,
            most_above_auto,
            span_over_floor,
            share_of_printed,
            off_printed,
            cpu,
            grid_cpu,
            mean_cpu,
            overrun,
            mean_fun,
        ),
        *(near, farthest, gap, disputed, lists_and_best, bounds_above),
        *(means_of, feasible, best_of_groups, alone_after),
        *(evaluated, costs),
        *(behind_best, wrong_on_common),
        *(proofs, times_as_long),
        *(
            reached,
            reached_after,
            retrieval,
            above_best,
            best_value,
            flat,
            ratio,
            recovered,
            of_coin,
            error_rate,
        ),
    )
}


def proof_cell(rows: Rows) -> str:
    """The median CPU seconds to a proof, and how many there were where it is not all of them."""
    proved = [row for row in rows if row["proved"]]
    if not rows or not proved:
        return f"0 of {len(rows)}" if rows else ""
    times = sorted(row["cpu"] if row["proved"] else np.inf for row in rows)
    middle = float(np.median(times))
    share = "" if len(proved) == len(rows) else f"{len(proved)} of {len(rows)}"
    return f"{middle:.2g}{f' ({share})' if share else ''}" if middle < np.inf else share
