"""A slice of the campaign for proofs over bounded integers, and that it sees what it is there for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np

from tests.campaign import whole_numbers


def test_a_slice_of_the_campaign():
    counts, found = whole_numbers.run(inf, 31, 20)
    assert not found, "\n".join(found)
    assert counts["solved, optimal"] > 15


def test_what_is_not_true_is_seen(monkeypatch):
    problem = whole_numbers.draw(np.random.default_rng(0))
    result = whole_numbers.dcra.solve(problem, method="exact", seed=0)
    size = 1 + abs(result.fun)
    wrong = replace(result, lower_bound=result.fun + size, fun=result.fun + size)
    monkeypatch.setattr(whole_numbers.dcra, "solve", lambda *given, **options: wrong)
    words = whole_numbers.judged(problem, Counter())
    assert [one.partition(":")[0] for one in words] == ["value", "bound", "status"]
