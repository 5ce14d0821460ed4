"""A slice of the campaign for proofs inside "auto", and that there are any."""

from __future__ import annotations

from math import inf

import pytest

from tests.campaign import plans


@pytest.mark.usefixtures("compiled_loops")
def test_a_slice_of_the_campaign(monkeypatch):
    monkeypatch.setattr(plans, "SECONDS", 0.1)
    counts, found = plans.run(inf, 41, 25, show=False)
    assert not found, "\n".join(found)
    for way in plans.WAYS:
        assert counts[f"{way}: solved, optimal"] > 8


@pytest.mark.parametrize("way", plans.WAYS)
def test_ways_end_with_their_block(way):
    before = [getattr(where, name) for where, name, _ in plans.WAYS[way]]
    with plans.trees_first(way):
        assert [getattr(where, name) for where, name, _ in plans.WAYS[way]] != before
    assert [getattr(where, name) for where, name, _ in plans.WAYS[way]] == before
