"""Benchmark `ablation`: constants are changed for one solve only, and differences are paired."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from dcra.auto import annealing, descents
from dcra.bench.ablation import KINDS, KNOBS, PLAIN, Ablation, changed
from dcra.bench.base import Case, Choice
from dcra.methods import make_plan
from dcra.search.plans import Plan


@pytest.mark.parametrize("knob", KNOBS)
def test_constants_exist_and_come_back(knob):
    path, _, name = knob.rpartition(".")
    module = import_module(f"dcra.{path}")
    before = getattr(module, name)
    with changed(knob, 2.0) as value:
        assert getattr(module, name) == value == 2 * before
    assert getattr(module, name) == before
    assert set(KNOBS[knob]) <= set(KINDS)


def test_whole_numbers_stay_whole_and_an_error_changes_nothing():
    with changed("auto.annealing.AGAIN", 0.1) as value:
        assert value == 1
        assert isinstance(value, int)
    with pytest.raises(RuntimeError), changed("auto.descents.HOT", 4.0):
        raise RuntimeError
    assert descents.HOT == 0.55
    assert annealing.AGAIN == 3


def test_every_change_stands_beside_the_plain_run():
    cases = list(Ablation().cases(Choice("small", sizes=["count-200"])))
    knobs = [knob for knob in KNOBS if "count-200" in KNOBS[knob]]
    assert len(cases) == 2 * (1 + 2 * len(knobs))
    assert sum(case.method == PLAIN for case in cases) == 2
    assert len({case.key for case in cases}) == len(cases)
    assert list(Ablation().cases(Choice(sizes=["cut-400"], methods=["polish.flip.PATIENCE"]))) == []


def test_a_run_sees_the_changed_constant(monkeypatch):
    seen = []

    def looking(search, engine) -> Plan:
        seen.append(descents.SWEEP_SHARE)
        return make_plan(search, engine)

    monkeypatch.setattr("dcra.solving.since.make_plan", looking)
    row = Ablation().run(Case("losses-100x50-0", "auto.descents.SWEEP_SHARE x 0.5", 0, 0.01))
    assert seen == [0.25]
    assert (row["knob"], row["factor"], row["value"]) == ("auto.descents.SWEEP_SHARE", 0.5, 0.25)
    assert row["fun"] > 0


def test_the_report_pairs_by_instance():
    def row(number, method, fun, **more):
        return {"instance": f"cut-400-{number}", "method": method, "kind": "cut-400", "fun": fun, **more}

    knob = {"knob": "polish.quadratic.UNIT", "factor": 2.0}
    rows = [row(i, PLAIN, -100.0 - i) for i in range(3)]
    rows += [row(i, "polish.quadratic.UNIT x 2", -99.0 - i, **knob) for i in range(3)]
    _, table = Ablation().report(rows)
    assert table.columns == ["constant", "x 2"]
    assert list(table.rows) == [["polish.quadratic.UNIT", "+0.99 % *"]]
    rows[-1]["fun"] = np.nan
    assert "nan" in Ablation().report(rows)[1].rows[0][1]
