"""What docs/benchmarks.md says of Table 1 without a number."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.bench.against import fights
from dcra.bench.compare import grouped
from dcra.bench.gaussian import size_of

from .measures import chosen, rows_of
from .pages import ROOT, flat

PUBLISHED = ("mpec-epm", "mpec-adm", "l2box-admm", "shapeak", "subgradient", "lp-rounding")
CLOSE = ("sweep", "anneal", "tabu", "dcra", "dcra-paper", "l2box-admm")
"""Methods whose shares stand on the page as numbers."""


def page():
    return flat((ROOT / "docs/benchmarks.md").read_text())


def listed(words):
    """ "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def said(found):
    """Methods with sizes, as the page has them."""
    parts = []
    for method in sorted(found):
        sizes = sorted(found[method], key=size_of)
        parts.append(f"`{method}` at {listed([size.replace('x', ' x ') for size in sizes])}")
    return "; ".join(parts)


def beside_auto(factor):
    """(level, lower): methods within two standard errors of `auto`, and lower by more, with their sizes."""
    level, lower = {}, {}
    for (size, method), rows in grouped(chosen(rows_of("table1"), factor=factor), "size", "method").items():
        ours = {
            row["instance"]: row["fun"]
            for row in chosen(rows_of("table1"), factor=factor, size=size, method="auto")
        }
        over = [
            (row["fun"] - ours[row["instance"]]) / row["floor"] for row in rows if row["instance"] in ours
        ]
        error = np.std(over, ddof=1) / np.sqrt(len(over)) if len(over) > 1 else 0.0
        if method != "auto" and np.mean(over) <= 2 * error:
            (lower if np.mean(over) < -2 * error else level).setdefault(method, []).append(size)
    return level, lower


def test_the_page_says_who_is_level_with_auto_or_lower():
    for factor, when in ((1.0, "at the paper's seconds"), (10.0, "at ten times those")):
        level, lower = beside_auto(factor)
        assert f"{when} {said(level)}" in page()
        if lower:
            assert f"lower by more, {when}: {said(lower)}" in page()
        assert set(level) | set(lower) <= {"sweep", "anneal", "tabu"}
    assert ("none is lower by more" in page()) == (not beside_auto(1.0)[1] and not beside_auto(10.0)[1])


def test_it_is_never_worse_than_the_others():
    assert "than all others always" in page()
    for factor in (1.0, 10.0):
        found = fights("auto", chosen(rows_of("table1"), factor=factor))
        rest = [duel.wins + duel.ties for method, duel in found.items() if method not in (*CLOSE, "flip")]
        assert min(rest) == 1.0


def test_it_loses_mostly_at_few_variables():
    """Instances on which some method is lower."""
    lost = []
    for rows in grouped(rows_of("table1"), "instance", "seed", "factor").values():
        ours = [row["fun"] for row in rows if row["method"] == "auto"]
        if rows[0]["factor"] and ours and min(row["fun"] for row in rows) < ours[0]:
            lost.append(int(rows[0]["size"].split("x")[0]))
    assert np.mean([n <= 300 for n in lost]) > 0.75


@pytest.mark.parametrize(
    ("method", "grows"), [("flip", True), ("tabu", True), ("dcra", False), ("l2box-admm", False)]
)
def test_over_whom_its_lead_grows_with_the_variables(method, grows):
    means = {
        key: np.mean([row["fun"] for row in rows])
        for key, rows in grouped(chosen(rows_of("table1"), factor=1.0), "size", "method").items()
    }
    leads = [means[f"{n}x{n}", method] / means[f"{n}x{n}", "auto"] for n in (100, 200, 300, 500, 1000, 2000)]
    assert (leads == sorted(leads)) == grows


def test_the_strongest_of_the_published_rivals():
    for factor in (1.0, 10.0):
        for rows in grouped(chosen(rows_of("table1"), factor=factor), "size").values():
            parts = grouped([row for row in rows if row["method"] in PUBLISHED], "method")
            means = {method: np.mean([row["fun"] for row in part]) for method, part in parts.items()}
            assert not means or min(means, key=means.get) in ("l2box-admm", "shapeak")


def test_the_mpec_methods_hardly_come_to_their_end_but_at_one_size():
    rows = [row for m in ("mpec-epm", "mpec-adm") for row in chosen(rows_of("table1"), factor=1.0, method=m)]
    ended = {
        size: np.mean([row["starts"] > 0 for row in part]) for size, part in grouped(rows, "size").items()
    }
    assert ended.pop("500x1000") > 0.9
    assert max(ended.values()) <= 0.1


def test_the_relaxation_is_level_with_the_papers_on_the_whole():
    found = fights("dcra", chosen(rows_of("table1"), factor=1.0))["dcra-paper"]
    assert abs(found.difference) < 0.01


def test_how_it_was_run():
    rows = rows_of("table1")
    assert {(row["environment"]["jobs"], row["environment"]["threads"]) for row in rows} == {(1, 1)}
    counts = {
        size: len(part) for size, part in grouped(chosen(rows, factor=1.0, method="auto"), "size").items()
    }
    few = ("1000x2000", "2000x2000", "3000x2000")
    small = ("100x50", "100x100", "100x200", "200x200", "300x300", "300x500")
    assert counts == {size: 3 if size in few else 20 if size in small else 10 for size in counts}
    for factor in (1.0, 10.0):
        methods = {row["method"] for row in chosen(rows, factor=factor, size="100x50")}
        assert len(methods) == 19
