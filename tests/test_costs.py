"""How much slower this machine is: probed once, and never less than 1."""

from __future__ import annotations

import pytest

from dcra import costs


@pytest.fixture
def probes(monkeypatch):
    """The seconds that probes take, in turn; how many are left afterwards."""
    seconds = []
    monkeypatch.setattr(costs, "_seconds_for", lambda A: seconds.pop(0))
    costs.slowdown.cache_clear()
    yield seconds
    costs.slowdown.cache_clear()


@pytest.mark.parametrize(("best", "factor"), [(0.0, 1.0), (0.1, 1.0), (1.0, 1.0), (2.5, 2.5), (40.0, 40.0)])
def test_the_best_probe_counts(probes, best, factor):
    probes += [50.0 * costs.PROBE_SECONDS, best * costs.PROBE_SECONDS, 41.0 * costs.PROBE_SECONDS]
    assert costs.slowdown() == pytest.approx(factor)


def test_it_is_probed_once(probes):
    probes += [3 * costs.PROBE_SECONDS] * 3
    assert costs.slowdown() == costs.slowdown() == pytest.approx(3.0)
    assert probes == []


def test_a_true_probe():
    costs.slowdown.cache_clear()
    first = costs.slowdown()
    assert first >= 1
    assert costs.slowdown() == first


def test_every_cost_is_positive():
    numbers = [value for name, value in vars(costs).items() if name.isupper()]
    assert len(numbers) >= 10
    assert all(value > 0 for value in numbers)
