"""A slice of the campaign for fixed variables and pools, and that the oracle sees what it is there for."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from dcra.model.pool import Solutions
from tests.campaign import partly
from tests.campaign.cases import Case
from tests.campaign.oracle import findings, truth_of


def test_a_slice_of_the_campaign():
    counts, found = partly.run(inf, 17, 60, show=False)
    assert not found, "\n".join(found)
    assert counts["with variables fixed"] > 20
    assert counts["with pools"] > 20


def seen(case, result):
    return [words.partition(":")[0] for words in findings(case, result, truth_of(case))]


def test_the_oracle_sees_it():
    case = Case(3, "binary", "exact", linear=np.array([1.0, -2.0, 4.0]), fixed=((1, 0.0),), pool=2)
    result = case.solve()
    assert seen(case, result) == []
    assert seen(case, replace(result, x=np.array([0.0, 1.0, 0.0]))) == ["fixed"]
    for points in ([[0, 0, 0]], [[0, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]):
        pool = Solutions(np.array(points, float), np.zeros(len(points)), True, 2)
        assert seen(case, replace(result, pool=pool)) == ["pool"]
