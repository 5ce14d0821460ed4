"""What the rows of the compressed-sensing benchmark say, in two sentences, and how to read its page."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from dcra.bench import bcs_paper
from dcra.bench.base import Row
from dcra.bench.compare import grouped
from dcra.bench.sections import Text

ENGINE = "dcra-paper"
NAMED = ("recover", "amp", "lp")


def message(rows: Sequence[Row]) -> Text:
    """The paper's DCRA column beside a coin flip and our run of it, and who recovers the signal."""
    exact = [row for row in rows if row["noise"] == 0]
    if not exact:
        return Text("In short", ["There are no finished rows without noise yet."])
    return Text("In short", [f"{_printed(exact)} {_recovered(exact)}"])


def _printed(rows: Sequence[Row]) -> str:
    parts = []
    for mu, group in sorted(grouped(rows, "mu").items()):
        coin, truth = fmean(row["coin"] for row in group), fmean(row["truth"] for row in group)
        own = [row for row in group if row["method"] == ENGINE]
        ran = f", {ENGINE} here {fmean(row['fun'] for row in own) / coin:.2f}" if own else ""
        printed = fmean(bcs_paper.OBJECTIVE[mu]["dcra"]) / coin if mu in bcs_paper.OBJECTIVE else None
        said = "" if printed is None else f", the paper prints {printed:.2f} for its DCRA"
        parts.append(f"at mu = {mu} the true signal has {truth / coin:.2f}{said}{ran}")
    return f"In units of a coin flip's mean objective: {'; '.join(parts)}."


def _recovered(rows: Sequence[Row]) -> str:
    shares = {
        method: fmean(bool(row["exact"]) for row in group)
        for method, group in grouped(rows, "method").items()
    }
    named = [f"{method} {shares[method]:.0%}" for method in NAMED if method in shares]
    others = {method: share for method, share in shares.items() if method not in NAMED}
    ranked = sorted(others, key=lambda method: -others[method])
    named += [f"{method} {others[method]:.0%}" for method in ranked[:3]]
    if ENGINE in others and ENGINE not in ranked[:3]:
        named.append(f"{ENGINE} {others[ENGINE]:.0%}")
    cells = len(grouped(rows, "mu", "rho", "alpha"))
    return f"Of the signals in {cells} cells, every bit is found by: {', '.join(named)}."


def reading(rows: Sequence[Row]) -> Text:
    """What was drawn, what was solved, and when each method ended."""
    timed = sorted({row["budget"] for row in rows if row.get("budget") is not None})
    seconds = ", ".join(f"{budget:g}" for budget in timed)
    ends = (
        f"Methods with a time limit had {seconds} s."
        if timed
        else "Every other method made one start and ended by its own rule, so that no objective depends on "
        "the machine."
    )
    return Text(
        "How to read this",
        [
            "y = A x with x in {0,1}^500 of density rho; A is normal with mean mu/N and variance 1/N. "
            "The objective is |Ax - y|_1 + .05 |x|_1. 'truth' is that of the true signal, 'coin' that "
            "of a random one; rows named 'paper' are its printed numbers, for an unknown set of alpha.",
            f"recover is told nothing; amp is told rho; lp minimises the number of ones over the box. {ends} "
            "Recovered means that every bit is right.",
        ],
    )
