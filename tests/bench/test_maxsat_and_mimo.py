"""Benchmarks maxsat and mimo: cases run, rows are judged, reports are made."""

from __future__ import annotations

import json

import pytest

from dcra.bench.base import Choice, Skip
from dcra.bench.mimo import Mimo, bayes_floor, instance, matched_filter_bound
from dcra.bench.registry import find_benchmark
from dcra.bench.sections import ReportTable


@pytest.mark.parametrize(
    ("db", "bound", "floor"),
    [(4, 0.0563, 0.1256), (6, 0.0231, 0.0691), (8, 0.0060, 0.0115), (10, 0.00078, 0.00091)],
)
def test_bound_and_floor(db, bound, floor):
    from dcra.apps.mimo import CONSTELLATIONS

    power = 10 ** (db / 10)
    assert matched_filter_bound(CONSTELLATIONS["qpsk"], power) == pytest.approx(bound, rel=0.02)
    assert bayes_floor(power) == pytest.approx(floor, rel=0.01)


def rows_of(name, choice):
    study = find_benchmark(name)
    rows = []
    for case in study.cases(choice):
        try:
            row = study.run(case)
        except Skip:
            continue
        assert {"fun", "wall", "cpu"} <= set(row)
        known = {"instance": case.instance, "method": case.method, "budget": case.budget}
        rows.append(known | json.loads(json.dumps(row)))
    return study, rows


def test_mimo(monkeypatch):
    from dcra.bench import mimo

    system = mimo.System(4, "qpsk", (8, 12), 5, 1, rho=0.7)
    monkeypatch.setattr(mimo, "SYSTEMS", {"corr-4": system})
    study, rows = rows_of("mimo", Choice(sizes=["corr-4"]))
    assert len(rows) == 2 * len(Mimo.methods)
    exact = {row["instance"]: row["fun"] for row in rows if row["method"] == "sphere"}
    for row in rows:
        assert row["fun"] >= exact[row["instance"]] - 1e-9
        if row["method"] == "detect":
            assert row["fun"] == pytest.approx(exact[row["instance"]])
            assert "sphere" in row["stages"]
            assert 0 <= row["proven"] <= 1
    text, figure, table = study.report(rows)
    assert len(figure.panels) == 1
    assert len(table.rows) == len(rows)
    assert isinstance(table, ReportTable)
    assert (instance("corr-4-8dB-0").y == instance("corr-4-8dB-0").y).all()
    assert text.paragraphs


def test_mimo_says_where_it_loses():
    """Frame by frame: few frames with many more errors are no proof, many with one more are."""
    from dcra.bench.mimo_report import behind, gathered, lost_cells

    def row(method, errors, instance="a"):
        return {
            "size": "corr-32",
            "snr": 8,
            "method": method,
            "instance": instance,
            "errors": errors,
            "frames": len(errors),
            "bits": 64 * len(errors),
            "ratio": 1.0,
            "worst_ratio": 1.1,
            "wall": 1.0,
        }

    steady = gathered(
        [row("detect", [2, 3] * 50), row("ep", [1, 2] * 50), row("mmse", [1, 2] * 49 + [1, 30])]
    )
    best = steady["corr-32", 8, "ep"]
    assert behind(steady["corr-32", 8, "detect"], best) == pytest.approx(100)
    assert behind(steady["corr-32", 8, "mmse"], best) == pytest.approx(1, rel=0.01)
    assert behind(best, best) == 0
    assert [lost[:3] for lost in lost_cells(steady)] == [("corr-32", 8, "detect")]
    assert lost_cells(gathered([row("detect", [1, 2]), row("ep", [1, 2])])) == []
    assert best.rate == (pytest.approx(1.5 / 64), pytest.approx(5 / 6400))


def test_maxsat(monkeypatch):
    from dcra.bench import maxsat

    original = maxsat.partial_3sat
    monkeypatch.setattr(maxsat, "partial_3sat", lambda n, ratio, seed: original(14, 3.0, seed))
    study, rows = rows_of(
        "maxsat", Choice(sizes=["partial-3sat"], methods=["auto", "milp", "cp-sat"], budget=8.0)
    )
    assert {row["fun"] for row in rows if row["violated"] == 0} == {rows[0]["fun"]}
    words, shares, *_, table = study.report(rows)
    assert len(table.rows) == len(rows)
    assert {row[-1] for row in shares.rows if row[1] == "auto"} == {1.0}
    assert words.title == "Max-SAT"
