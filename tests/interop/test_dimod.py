"""The dimod sampler, by dimod's own checks and ours."""

import unittest

import numpy as np
import pytest

import dcra
from dcra.model.problem import Problem
from dcra.model.term import Term

dimod = pytest.importorskip("dimod")
pytest.importorskip("dimod.testing")

from dcra.interop.dimod import DCRASampler, bqm_of, problem_of  # noqa: E402


@dimod.testing.load_sampler_bqm_tests(DCRASampler)
class TestDimodsOwn(unittest.TestCase):
    def test_interface(self):
        dimod.testing.assert_sampler_api(DCRASampler())


def model(vartype="SPIN", n=30):
    rng = np.random.default_rng(0)
    pairs = {(i, j): float(rng.integers(-5, 6)) for i in range(n) for j in range(i)}
    return dimod.BinaryQuadraticModel({i: float(rng.integers(-5, 6)) for i in range(n)}, pairs, 1.5, vartype)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_reads_and_what_is_said_about_them(vartype):
    bqm = model(vartype)
    samples = DCRASampler().sample(bqm, num_reads=3, seed=0, starts=4)
    assert 1 <= len(samples) <= 3
    dimod.testing.assert_response_energies(samples, bqm)
    assert samples.info["lower_bound"] <= samples.first.energy
    assert samples.info["seed"] == 0
    assert samples.info["status"] in ("converged", "optimal")
    again = DCRASampler().sample(bqm, num_reads=3, seed=0, starts=4)
    np.testing.assert_array_equal(samples.record.sample, again.record.sample)


@pytest.mark.parametrize("part", range(4))
def test_agrees_with_the_exact_solver(part):
    """Two hundred models in all: as many reads as are asked for, and they are the lowest states."""
    for seed in range(50 * part, 50 * part + 50):
        rng = np.random.default_rng(seed)
        n, vartype = int(rng.integers(1, 9)), ("SPIN", "BINARY")[seed % 2]
        names = [f"v{k}" for k in range(n)]
        pairs = {(names[i], names[j]): rng.normal() for i in range(n) for j in range(i) if rng.random() < 0.7}
        bqm = dimod.BinaryQuadraticModel(dict.fromkeys(names, 0.0), pairs, rng.normal(), vartype)
        bqm.add_linear_from({v: rng.normal() for v in names})
        reads = int(rng.integers(1, 6))
        found = DCRASampler().sample(bqm, num_reads=reads, seed=seed)
        exact = dimod.ExactSolver().sample(bqm)
        lowest = np.sort(exact.record.energy)[:reads]
        np.testing.assert_allclose(found.record.energy, lowest, atol=1e-9)


def test_one_search_is_behind_all_reads(monkeypatch):
    from dcra.interop import dimod as module

    calls = []
    monkeypatch.setattr(module, "solve", lambda *a, **k: calls.append(k) or dcra.solve(*a, **k))
    samples = DCRASampler().sample(model(n=12), num_reads=40, seed=0)
    assert len(samples) == len(np.unique(samples.record.sample, axis=0)) == 40
    assert np.all(np.diff(samples.record.energy) >= 0)
    (options,) = calls
    assert options["pool"] == options["starts"] == 40


def test_initial_states_are_where_it_starts():
    bqm = model()
    best = DCRASampler().sample(bqm, seed=0)
    again = DCRASampler().sample(bqm, seed=1, starts=1, initial_states=best)
    assert again.first.energy <= best.first.energy
    other = DCRASampler().sample(model("BINARY"), seed=1, starts=1, initial_states=best)
    assert len(other) == 1
    with pytest.raises(ValueError, match="`initial_states` must have all variables"):
        DCRASampler().sample(bqm, initial_states={0: 1})


def test_there_and_back():
    for vartype in ("SPIN", "BINARY"):
        bqm = model(vartype, 6)
        problem = problem_of(bqm)
        back = bqm_of(problem)
        values = (-1, 1) if vartype == "SPIN" else (0, 1)
        for sample in np.random.default_rng(0).choice(values, (5, 6)):
            named = dict(zip(bqm.variables, sample.tolist(), strict=True))
            assert problem.objective(sample.astype(float)) == pytest.approx(bqm.energy(named))
            assert back.energy(dict(enumerate(sample.tolist()))) == pytest.approx(bqm.energy(named))
    with pytest.raises(ValueError, match="the problem has more"):
        bqm_of(Problem([Term("l1", np.ones((1, 2)), 0.0)]))
    assert len(DCRASampler().sample(dimod.BinaryQuadraticModel("SPIN"), num_reads=2)) == 1
    with pytest.raises(ValueError, match="`num_reads` must be at least 1"):
        DCRASampler().sample(bqm, num_reads=0)


def test_imported_by_name_only():
    assert not hasattr(dcra, "DCRASampler")


def test_constraints_are_not_left_out():
    problem = Problem(linear=-np.ones(3), domain="binary", constraints=dcra.exactly(1))
    with pytest.raises(ValueError, match="`problem` must have no constraints"):
        bqm_of(problem)
