"""What callbacks are given and how they stop, the journal, the gap as a rule, threads."""

from __future__ import annotations

import logging
from math import inf

import numpy as np
import pytest

import dcra
from dcra.apps import mimo
from dcra.exact.enumeration import MAX_WORK, enumerable
from dcra.search.checks import check_jobs
from dcra.search.threads import default_jobs

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((30, 40)), RNG.standard_normal(30)


def stop_iteration(moment):
    raise StopIteration


@pytest.mark.parametrize(
    "callback", [lambda p: True, lambda p: np.True_, lambda p: 1, lambda p: "stop", stop_iteration]
)
def test_anything_true_stops(callback):
    result = dcra.minimize(A, B, seed=0, callback=callback)
    assert result.status == "callback"


@pytest.mark.parametrize("callback", [lambda p: None, lambda p: 0, lambda p: np.False_, lambda p: ""])
def test_nothing_else_does(callback):
    assert dcra.minimize(A, B, starts=1, seed=0, callback=callback).status == "converged"


def test_other_errors_come_out():
    def broken(moment):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        dcra.minimize(A, B, seed=0, callback=broken)


@pytest.mark.parametrize("domain", ["spin", "binary"])
def test_points_are_copies(domain):
    problem = dcra.Problem([dcra.Term("l1", A, B)], domain=domain)
    seen = []

    def look(moment):
        _, fun, lower_bound = moment
        assert (fun, lower_bound) == (moment.fun, moment.lower_bound)
        x = moment.x
        if x is None:
            assert fun == inf
            return
        assert problem.objective(x) == pytest.approx(fun, abs=1e-10)
        seen.append(moment)
        x[:] = 7  # ours to spoil

    result = dcra.solve(problem, starts=4, seed=0, callback=look)
    assert problem.objective(result.x) == result.fun
    for moment in seen:  # points stay those of their moment
        assert problem.objective(moment.x) == pytest.approx(moment.fun, abs=1e-10)


def test_the_journal(caplog):
    with caplog.at_level(logging.DEBUG, logger="dcra"):
        result = dcra.minimize(A, B, starts=2, seed=5)
    words = [record.getMessage() for record in caplog.records if record.name == "dcra"]
    assert words[0] == "begin: Problem(L1(30, 40), 40 spin variables), method auto, seed 5"
    assert words[-1].startswith("end after ")
    assert f"converged: best {result.fun:.10g}" in words[-1]
    assert len(words) == 2 + len(result.history)
    assert {r.levelno for r in caplog.records[1:-1]} == {logging.DEBUG}


def test_the_journal_is_silent_unless_asked(capfd):
    dcra.minimize(A, B, starts=1, seed=5)
    assert capfd.readouterr() == ("", "")


def regression(seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((80, 40))
    return M, M @ rng.choice([-1, 1], 40) + 0.1 * rng.standard_normal(80)


@pytest.mark.usefixtures("compiled_loops")
def test_the_gap_is_a_rule():
    M, y = regression(0)
    options = {"method": "sweep", "seed": 0, "n_jobs": 1}
    full = dcra.minimize(M, y, starts=40, **options)
    assert full.gap > 0
    loose = dcra.minimize(M, y, starts=40, gap=2 * full.gap, **options)
    assert loose.status == "gap"
    assert loose.gap <= 2 * full.gap
    assert loose.n_starts < full.n_starts
    assert dcra.minimize(M, y, starts=2, gap=0.0, **options).status == "converged"


@pytest.mark.parametrize(
    ("gap", "error", "match"),
    [
        (-0.1, ValueError, "`gap` must be a share of the objective, at least 0 and finite; got -0.1"),
        (inf, ValueError, "`gap` must be a share of the objective"),
        (np.nan, ValueError, "`gap` must be a share of the objective"),
        ("1%", TypeError, "`gap` must be a number, a share of the objective; got '1%'"),
        (True, TypeError, "`gap` must be a number"),
    ],
)
def test_bad_gaps(gap, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(A, B, gap=gap)


def test_all_cores():
    assert check_jobs("n_jobs", -1) is check_jobs("n_jobs", None) is None
    assert default_jobs() >= 1
    one, every = (dcra.minimize(A, B, starts=2, seed=0, n_jobs=jobs) for jobs in (1, -1))
    assert np.array_equal(one.x, every.x)
    columns = np.stack([B, -B], axis=1)
    assert dcra.minimize_batch(A, columns, starts=1, seed=0, n_jobs=-1).fun.shape == (2,)
    assert dcra.minimize_batch(A, columns, starts=1, seed=0, n_jobs=-1, chunk=1).fun.shape == (2,)
    assert len(list(dcra.solve_many([dcra.Problem(linear=[1.0, 2.0])], n_jobs=-1, seed=0))) == 1
    assert mimo.detect(np.eye(2), np.ones((2, 3)), n_jobs=-1, chunk=2, seed=0).symbols.shape == (2, 3)
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, or -1 for all cores; got -2"):
        dcra.minimize(A, B, n_jobs=-2)
    with pytest.raises(ValueError, match="`n_jobs` must be at least 1, or -1 for all cores; got 0"):
        dcra.minimize_batch(A, columns, n_jobs=0)


def decided(n, **options):
    from time import perf_counter

    from dcra.api import SolveOptions, prepare
    from dcra.auto.decision import decide

    problem = dcra.Problem([dcra.Term("l1", np.random.default_rng(0).standard_normal((1, n)), [0.3])])
    search, _ = prepare(problem, SolveOptions(seed=0, **options), perf_counter())
    return decide(search).row.plan


def test_starts_are_work_to_enumeration_too():
    assert decided(30) == "enumeration"
    assert decided(30, starts=32) == "enumeration"
    assert decided(30, starts=1) != "enumeration"
    assert decided(20, starts=1) == "enumeration"


def test_a_share_of_the_work():
    from dcra.compiled.form import compile_problem

    compiled = compile_problem(dcra.Problem([dcra.Term("l1", np.ones((1, 20)), [0.3])]))
    assert enumerable(compiled, None, 2**20 / MAX_WORK)
    assert not enumerable(compiled, None, 0.9 * 2**20 / MAX_WORK)
