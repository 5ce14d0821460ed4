"""Solving for the record: histories, what counts as missing, warming up."""

from __future__ import annotations

import numpy as np
import pytest

import dcra
from dcra.bench.base import Skip
from dcra.bench.solving import is_unavailable, judged, summarise_solve, thinned, timed, warm
from dcra.engines import Sweep


class Unavailable(Exception):
    pass


class SmallLicence(Unavailable):
    pass


def small() -> dcra.Problem:
    rng = np.random.default_rng(0)
    return dcra.Problem([dcra.Term("l1", rng.standard_normal((6, 9)), rng.standard_normal(6))])


def test_histories_are_thinned_evenly_in_log_time():
    times = np.geomspace(1e-3, 7.0, 1000)
    kept = thinned([(float(t), float(1000 - i)) for i, t in enumerate(times)], most=20)
    assert kept[0] == [0.001, 1000.0]
    assert kept[-1] == [7.0, 1.0]
    assert len(kept) == 20
    assert np.ptp(np.diff(np.log([t for t, _ in kept]))) < 0.05


def test_only_improvements_are_kept():
    assert thinned([(0.1, 5.0), (0.2, 5.0), (0.3, 4.0), (0.4, 4.5)]) == [[0.1, 5.0], [0.3, 4.0]]


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (ImportError("no package"), True),
        (ModuleNotFoundError("no module"), True),
        (SmallLicence("2,000 variables"), True),
        (ValueError("wrong"), False),
    ],
)
def test_what_counts_as_missing(error, missing):
    assert is_unavailable(error) == missing


def test_a_missing_package_is_a_skip(monkeypatch):
    def solve(*arguments: object, **options: object) -> None:
        raise ImportError("pip install 'dcra[oracle]'")

    monkeypatch.setattr("dcra.api.solve", solve)
    with pytest.raises(Skip, match=r"pip install 'dcra\[oracle\]'"):
        timed(small(), "auto")


def test_the_judge_rejects_points_outside_the_domain():
    with pytest.raises(ValueError, match="`x`"):
        judged(small(), np.full(9, 0.5))


def test_an_outcome_is_judged_again():
    problem = small()
    solved = timed(problem, "enumerate", seed=0)
    row = summarise_solve(problem, solved)
    assert row["fun"] == problem.objective(solved.result.x)
    assert row["bound"] == pytest.approx(row["fun"])
    assert row["ended"] == "optimal"
    assert solved.wall > 0


def test_engines_are_methods_too():
    assert timed(small(), Sweep(sweeps=5), starts=1, seed=0).result.method == "sweep"


@pytest.mark.parametrize("method", ["exact", "enumerate"])
def test_exact_methods_are_warmed_by_what_they_finish(method, monkeypatch):
    sizes = []
    monkeypatch.setattr("dcra.api.minimize", lambda A, b, **options: sizes.append(A.shape[1]))
    warm(method)
    assert max(sizes) <= 12


def test_unknown_names_need_no_warming():
    warm("oracle")
    warm("random")
