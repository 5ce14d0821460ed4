"""Numbers of comparisons, by hand."""

from __future__ import annotations

import pytest

from dcra.bench import compare


def row(method: str, instance: str, fun: float, **fields: object) -> dict[str, object]:
    return {"method": method, "instance": instance, "seed": 0, "fun": fun, "wall": 1.0} | fields


OURS = [row("a", "i", 1.0), row("a", "j", 2.0), row("a", "k", 3.0), row("a", "l", 4.0)]
THEIRS = [row("b", "i", 2.0), row("b", "j", 2.0 + 1e-12), row("b", "k", 2.0)]


def test_duels_count_ties_apart():
    found = compare.duel(OURS, THEIRS)
    assert found is not None
    assert (found.wins, found.ties, found.pairs) == (1 / 3, 1 / 3, 3)
    assert found.difference == pytest.approx((-0.5 + 0 + 0.5) / 3)
    assert compare.duel(OURS, []) is None


def test_zero_objectives_have_no_relative_difference():
    tied = compare.duel([row("a", "i", 0.0)], [row("b", "i", 0.0)])
    assert tied == compare.Duel(0.0, 1.0, 0.0, 1)
    assert compare.duel([row("a", "i", 1.0)], [row("b", "i", 0.0)]) == compare.Duel(0.0, 0.0, None, 1)


def test_best_of_all():
    assert compare.best_shares([*OURS, *THEIRS]) == {"a": (0.5, 0.25), "b": (0.25, 0.25)}


def test_profiles_are_shares_of_instances():
    a, b = compare.profile([*OURS[:3], *THEIRS], "a", worst=2.5)
    assert (a.name, a.strong, b.name, b.strong) == ("a", True, "b", False)
    assert (a.y[0], b.y[0]) == (2 / 3, 2 / 3)
    assert (a.y[-1], b.y[-1]) == (1.0, 1.0)
    assert max(x for x, y in zip(b.x, b.y, strict=True) if y < 1) < 2


def test_anytime_curves_are_medians_with_quartiles():
    found = [
        row("a", "i", 1.0, history=[[0.01, 9.0], [1.0, 1.0]], floor=1.0),
        row("a", "j", 2.0, history=[[0.02, 8.0], [1.0, 2.0]], floor=1.0),
        row("a", "k", 6.0, history=[[0.03, 12.0], [1.0, 6.0]], floor=2.0),
    ]
    (curve,) = compare.anytime(found, "a", scale="floor", points=50)
    assert curve.x[-1] == 1.0
    assert curve.x[0] >= 0.02  # before that, most instances have no answer
    assert (curve.y[0], curve.y[-1]) == (9.0, 2.0)
    assert curve.low is not None
    assert curve.high is not None
    assert (curve.low[-1], curve.high[-1]) == (1.5, 2.5)
    assert curve.high[0] is None


def test_a_method_without_a_history_has_its_answer():
    (curve,) = compare.anytime([row("milp", "i", 5.0)])
    assert curve.y == [5.0] * len(curve.y)
    assert curve.x[0] == 1.0


def test_curves_go_on_to_the_end_of_the_longest():
    one, two = compare.anytime([row("a", "i", 5.0, wall=0.1), row("b", "i", 4.0, wall=9.0)])
    assert (one.x[0], one.x[-1]) == pytest.approx((0.1, 9.0))
    assert two.x[0] == 9.0
