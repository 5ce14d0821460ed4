"""Method "exact" on clauses: RC2 of python-sat, whose word is not taken for it, and the tree without it."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dcra
from dcra.apps import maxsat
from dcra.apps.maxsat import ClauseProblem, Clauses, cores, exact, random_clauses
from dcra.apps.maxsat.cores import CoreAnswer, Cores
from dcra.bench.maxsat_rivals import rc2
from dcra.cli import run
from dcra.exact.prove import Prove
from dcra.result import Status

needs_rc2 = pytest.mark.skipif(not exact.installed(), reason="python-sat is not installed")

WEIGHTS = {
    "ones": lambda rng, m: np.ones(m, int),
    "small": lambda rng, m: rng.integers(1, 9, m),
    "real": lambda rng, m: rng.random(m) + 0.01,
    "wide": lambda rng, m: 2.0 ** rng.integers(-60, 60, m),
    "beyond float64": lambda rng, m: rng.integers(1, 2**57, m),
}


def drawn(kind: str, seed: int) -> Clauses:
    """A few clauses, some of them empty, tautologies or the same."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 8)), int(rng.integers(0, 20))

    def draw() -> list[int]:
        size = int(rng.integers(0 if rng.random() < 0.05 else 1, 4))
        return [int(v) for v in rng.integers(1, n + 1, size) * rng.choice([-1, 1], size)]

    soft = [draw() for _ in range(m)]
    return Clauses.of(soft, WEIGHTS[kind](rng, m), hard=[draw() for _ in range(rng.integers(8))], n=n)


def least(clauses: Clauses) -> Fraction | None:
    """The least cost without rounding; None where hard clauses cannot all be true."""
    points = np.array(list(product((0, 1), repeat=clauses.n)))
    fine = [x for x in points if not clauses.violated(x)]
    return min((Cores(clauses).cost_of(x) for x in fine), default=None)


@needs_rc2
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_cores_lead_to_the_optimum(kind):
    for seed in range(40):
        clauses, told = drawn(kind, seed), []
        answer, best = Cores(clauses, told.append).solve(), least(clauses)
        assert not answer.wrong
        assert told == sorted(told)
        if best is None:
            assert answer.infeasible
            assert answer.bound == clauses.top
        else:
            assert answer.bound == best == Cores(clauses).cost_of(answer.x)


@needs_rc2
def test_a_run_that_is_stopped_says_nothing_that_is_not_true():
    clauses = random_clauses(40, 230, 3, 0)
    best = Cores(clauses).solve().bound
    assert best == 4
    for number in range(1, 4):
        run = Cores(clauses)
        run.told = lambda bound, run=run, number=number: bound == number and run.stop()
        assert run.solve() == CoreAnswer(Fraction(number))
    run = Cores(clauses)
    run.stop()
    assert run.solve() == CoreAnswer(Fraction(0))


@needs_rc2
def test_calls_that_are_cut_short_are_no_answers():
    """RC2 takes a call without an answer for "cannot be", and would raise its cost."""
    clauses = random_clauses(40, 230, 3, 0)
    run = Cores(clauses)

    class CutShort:
        def solve_limited(self, assumptions, expect_interrupt):
            assert expect_interrupt  # else other threads wait, and Ctrl-C with them
            run.stopping = True

    with pytest.raises(cores.Stopped):
        cores.Oracle(CutShort(), run).solve_limited([1])
    with pytest.raises(cores.Stopped):
        cores.Oracle(CutShort(), run).get_core()


def solved(clauses, **options):
    return dcra.solve(ClauseProblem(clauses), method="exact", starts=2, seed=0, n_jobs=1, **options)


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("there", [pytest.param(True, marks=needs_rc2), False])
@pytest.mark.parametrize("kind", ["ones", "small", "real"])
def test_answers_are_those_of_brute_force(kind, there, monkeypatch):
    monkeypatch.setattr(exact, "installed", lambda: there)
    monkeypatch.setattr(exact, "TREE_WORK", (0.0, 0.0) if there else exact.TREE_WORK)
    for seed in range(25):
        clauses = drawn(kind, seed)
        result, best = solved(clauses), least(clauses)
        if best is None:
            assert result.status is Status.INFEASIBLE
            assert not result.feasible
        else:
            assert result.status is Status.OPTIMAL
            assert float(best) == pytest.approx(result.fun, abs=1e-9)
            assert result.lower_bound <= result.fun


@needs_rc2
def test_it_is_rc2_that_proves(monkeypatch):
    monkeypatch.setattr(exact, "TREE_WORK", (0.0, 0.0))
    clauses = random_clauses(40, 230, 3, 0)
    result = solved(clauses)
    assert (result.status, result.fun, result.nodes) == (Status.OPTIMAL, 4.0, 0)
    bounds = [row.lower_bound for row in result.history]
    assert bounds == sorted(bounds)
    assert rc2(ClauseProblem(clauses), 60.0).bound == 4.0


@pytest.mark.usefixtures("compiled_loops")
@needs_rc2
def test_the_tree_comes_first_where_it_is_soon_closed(tmp_path):
    result = solved(random_clauses(30, 150, 3, 3))
    assert (result.status, result.fun) == (Status.OPTIMAL, 2.0)
    assert result.nodes > 0
    result.proof(tmp_path / "proof.npz")


@needs_rc2
@pytest.mark.parametrize(
    "claim",
    [
        CoreAnswer(Fraction(0), np.zeros(12, bool), wrong=True),  # what comes of a cost that is not its own
        CoreAnswer(Fraction(50)),  # above what is known
        CoreAnswer(Fraction(61), infeasible=True),  # of a problem without hard clauses
    ],
)
def test_claims_that_points_refute_are_not_believed(claim, monkeypatch):
    monkeypatch.setattr(exact, "TREE_WORK", (0.0, 0.0))
    monkeypatch.setattr(Cores, "solve", lambda run: claim)
    clauses = random_clauses(12, 90, 3, 0)
    result = solved(clauses)
    assert result.status is Status.CONVERGED
    assert result.lower_bound <= least(clauses) < 50


@needs_rc2
@pytest.mark.parametrize(("model", "cost"), [([1, 2], 1), ([1, -2], 0), ([-1, 2], 0)])
def test_an_optimum_has_the_cost_that_was_counted(model, cost):
    clauses = Clauses.of([[-1], [2]], hard=[[1]])
    right = (model, cost) == ([1, 2], 1)
    assert Cores(clauses)._judged(model, cost).wrong is not right


@needs_rc2
def test_a_time_limit_ends_it():
    result = dcra.solve(
        ClauseProblem(random_clauses(2000, 10000, 3, 0)), method="exact", time_limit=0.5, seed=0
    )
    assert result.status is Status.TIME_LIMIT
    assert result.lower_bound <= 40 <= result.fun


@needs_rc2
def test_a_callback_ends_it(monkeypatch):
    monkeypatch.setattr(exact, "TREE_WORK", (0.0, 0.0))
    clauses = random_clauses(60, 800, 3, 0)
    result = solved(clauses, callback=lambda moment: moment.lower_bound >= 2)
    assert result.status is Status.CALLBACK
    assert 2 <= result.lower_bound < result.fun


@pytest.mark.usefixtures("compiled_loops")
def test_without_python_sat_and_without_room_for_a_tree_it_is_a_search(monkeypatch):
    monkeypatch.setattr(exact, "installed", lambda: False)
    result = solved(random_clauses(2000, 2000, 2, 0))
    assert result.status in (Status.CONVERGED, Status.OPTIMAL)
    assert 0 <= result.lower_bound <= result.fun


def test_another_package_of_that_name_is_none(monkeypatch, tmp_path):
    (tmp_path / "pysat").mkdir()
    (tmp_path / "pysat" / "__init__.py").write_text("")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pysat"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert not exact.installed()


@pytest.mark.usefixtures("compiled_loops")
def test_more_than_clauses_is_for_the_tree():
    own = ClauseProblem(Clauses.of([[1], [2]], hard=[[-1, -2]]))
    twin = own.replace(linear=np.array([0.5, -3.0]))
    result = dcra.solve(twin, method="exact", starts=1, seed=0)
    assert (result.status, result.x.tolist(), result.fun) == (Status.OPTIMAL, [0.0, 1.0], -2.0)
    bounded = own.replace(constraints=dcra.exactly(0))
    assert dcra.solve(bounded, method="exact", starts=1, seed=0).fun == 2.0


@pytest.mark.usefixtures("compiled_loops")
def test_a_pool_has_the_best_ones():
    clauses = random_clauses(8, 40, 3, 1)
    result = solved(clauses, pool=4)
    points = np.array(list(product((0, 1), repeat=8)))
    assert result.pool.proven
    assert result.pool.values.tolist() == sorted(float(clauses.cost(x)) for x in points)[:4]


@pytest.mark.usefixtures("compiled_loops")
def test_files_are_answered_and_proofs_are_written(tmp_path, capsys):
    file, proof = tmp_path / "a.wcnf", tmp_path / "proof.npz"
    clauses = random_clauses(12, 90, 3, 0)
    dcra.io.write(file, ClauseProblem(clauses))
    assert run(["solve", str(file), "--method", "exact", "--starts", "2", "--seed", "0"]) == 0
    assert "s OPTIMUM FOUND" in capsys.readouterr().out
    asked = ["solve", str(file), "--method", "exact", "--proof", str(proof), "--starts", "2", "--seed", "0"]
    assert run(asked) == 0
    assert run(["verify", str(proof), str(file)]) == 0
    assert "verified" in capsys.readouterr().out
    file.write_text("h 1 0\nh -1 0\n1 2 0\n")
    assert run(["solve", str(file), "--method", "exact", "--seed", "0"]) == 1
    assert "s UNSATISFIABLE" in capsys.readouterr().out


@pytest.mark.usefixtures("compiled_loops")
def test_a_tree_can_be_asked_for():
    answer = maxsat.solve(random_clauses(12, 90, 3, 0), method=Prove(delegates=False), starts=2, seed=0)
    assert answer.optimal
    assert answer.result.certificate is not None
