"""A slice of the campaign over applications, and that its oracle sees what it is there for."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dcra.apps.qap import qap
from tests.campaign.fields import KINDS, claims, judged, run

EACH = 6


@pytest.mark.parametrize("seed", [21, 22])
def test_a_slice_of_the_campaign(seed):
    counts, found = run(inf, seed, EACH * len(KINDS), show=False)
    assert not found, "\n".join(found)
    assert set(counts.values()) == {EACH}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ((1.0, 2.0, 0.0, 0.0, False), "fun"),
        ((2.0, 2.0, 2.0, 1.0, False), "bound"),
        ((2.0, 2.0, 0.0, 1.0, True), "status"),
        ((np.nan, 2.0, 0.0, 2.0, False), "fun"),
    ],
)
def test_the_oracle_sees_it(given, kind):
    assert [words.partition(":")[0] for words in claims(*given, room=0.1)] == [kind]


def test_errors_that_name_no_argument_are_findings():
    def unnamed(rng):
        raise ValueError("shapes differ")

    def named(rng):
        raise ValueError("`A` must be a matrix")

    assert judged(unnamed, np.random.default_rng(0)) == ["error: ValueError: shapes differ"]
    assert judged(named, np.random.default_rng(0)) == []


def test_small_costs_do_not_drown_in_the_penalty():
    F = np.array([[3.0, -1.0], [0.0, 2.0]])
    D = 1e-30 * np.array([[-0.1, -0.2], [1.25, 0.06]])
    found = qap(F, D, starts=1, seed=0)
    assert found.cost == pytest.approx(min(np.sum(F * D[np.ix_(p, p)]) for p in ([0, 1], [1, 0])))
    assert found.result.lower_bound <= found.cost + 1e-9 * abs(found.cost)
