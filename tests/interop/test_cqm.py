"""Constrained quadratic models of dimod against its exact solver."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

dimod = pytest.importorskip("dimod")

from dcra.interop import cqm as ours  # noqa: E402
from dcra.model.infeasibility import Contradiction  # noqa: E402


def random_model(seed, kinds=("BINARY", "SPIN", "INTEGER")):
    rng = np.random.default_rng(seed)
    cqm = dimod.ConstrainedQuadraticModel()
    labels = [f"v{k}" for k in range(int(rng.integers(2, 6)))]
    inside = {}
    for v in labels:
        kind = str(rng.choice(kinds))
        bounds = {"lower_bound": int(rng.integers(-2, 1)), "upper_bound": int(rng.integers(1, 4))}
        cqm.add_variable(kind, v, **(bounds if kind == "INTEGER" else {}))
        inside[v] = {"BINARY": 1, "SPIN": -1, "INTEGER": bounds["lower_bound"]}[kind]
    form = dimod.QuadraticModel()
    for v in labels:
        whole = cqm.vartype(v) is dimod.INTEGER
        ends = {"lower_bound": cqm.lower_bound(v), "upper_bound": cqm.upper_bound(v)} if whole else {}
        form.add_variable(cqm.vartype(v), v, **ends)
        form.add_linear(v, float(rng.normal()))
        if whole:
            form.add_quadratic(v, v, float(rng.normal()))
    for i, u in enumerate(labels):
        for v in labels[:i]:
            if rng.random() < 0.6:
                form.add_quadratic(u, v, float(rng.normal()))
    form.offset = 1.25
    cqm.set_objective(form)
    for k in range(int(rng.integers(0, 3))):
        row = {v: int(rng.integers(-2, 3)) for v in labels}
        value = sum(row[v] * inside[v] for v in labels)
        sense = str(rng.choice(["<=", ">=", "=="]))
        cqm.add_constraint(list(row.items()), sense, rhs=value, label=f"rule {k}")
    return cqm


@pytest.mark.parametrize("part", range(4))
def test_agrees_with_the_exact_solver(part):
    for seed in range(50):
        cqm = random_model((part, seed))
        theirs = dimod.ExactCQMSolver().sample_cqm(cqm)
        best = theirs.filter(lambda d: d.is_feasible).first.energy
        samples = ours.DCRACQMSampler().sample_cqm(cqm, seed=0, num_reads=3)
        assert samples.first.is_feasible
        assert samples.first.energy == pytest.approx(best, abs=1e-6)
        assert samples.info["lower_bound"] == pytest.approx(best, abs=1e-4)
        assert samples.record.is_feasible.all()


def test_discrete_variables():
    cqm = dimod.ConstrainedQuadraticModel()
    cqm.add_discrete(["a", "b", "c"], label="one")
    cqm.set_objective(dimod.BinaryQuadraticModel({"a": 3, "b": 1, "c": 2}, {("a", "b"): -9}, 0, "BINARY"))
    samples = ours.DCRACQMSampler().sample_cqm(cqm, seed=0)
    assert (samples.first.energy, samples.first.sample["b"]) == (1, 1)
    assert len(samples) == 3


@pytest.mark.parametrize("penalty", ["linear", "quadratic"])
@pytest.mark.parametrize("sense", ["<=", ">=", "=="])
def test_soft_constraints_are_charged(penalty, sense):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        c, row = rng.normal(size=4), rng.integers(1, 4, 4)
        cqm = dimod.ConstrainedQuadraticModel()
        labels = list("abcd")
        for v in labels:
            cqm.add_variable("BINARY", v)
        cqm.set_objective(dimod.BinaryQuadraticModel(dict(zip(labels, c, strict=True)), {}, 0, "BINARY"))
        pairs = [(v, int(a)) for v, a in zip(labels, row, strict=True)]
        cqm.add_constraint(pairs, sense, rhs=4, label="wish", weight=0.7, penalty=penalty)
        X = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(float)
        off = X @ row - 4
        off = {"<=": np.maximum(off, 0), ">=": np.maximum(-off, 0), "==": np.abs(off)}[sense]
        costs = X @ c + 0.7 * (off if penalty == "linear" else off**2)
        samples = ours.DCRACQMSampler().sample_cqm(cqm, seed=0)
        assert samples.info["lower_bound"] == pytest.approx(costs.min(), abs=1e-6)
        assert samples.first.energy == pytest.approx(costs.min(), abs=1e-9)


def test_what_cannot_hold_together_is_named():
    cqm = dimod.ConstrainedQuadraticModel()
    x = list(dimod.Binaries([f"x{k}" for k in range(6)]))
    cqm.set_objective(sum(x))
    for name, one, other in (("a", 0, 1), ("b", 2, 3), ("c", 4, 5)):
        cqm.add_constraint(x[one] + x[other] >= 1, label=name)
    cqm.add_constraint(sum(x) <= 2, label="few")
    cqm.add_constraint(x[0] + x[2] <= 2, label="idle")
    samples = ours.DCRACQMSampler().sample_cqm(cqm, seed=0)
    assert samples.info["status"] == "infeasible"
    assert sorted(samples.info["conflict"]) == ["a", "b", "c", "few"]
    assert not samples.first.is_feasible


def test_binary_models_are_taken_too():
    bqm = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -2.0}, 0.0, "SPIN")
    assert ours.DCRACQMSampler().sample(bqm, seed=0).first.energy == -3


def test_examples_in_docstrings():
    tried = doctest.testmod(ours)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_what_is_refused():
    sampler = ours.DCRACQMSampler()
    with pytest.raises(TypeError, match=r"`cqm` must be a dimod\.ConstrainedQuadraticModel; got int"):
        sampler.sample_cqm(3)
    with pytest.raises(ValueError, match="`cqm` must have variables; it has none"):
        sampler.sample_cqm(dimod.ConstrainedQuadraticModel())
    cqm = dimod.ConstrainedQuadraticModel()
    cqm.add_variable("REAL", "r")
    with pytest.raises(ValueError, match="variables must be binary, spin or integer; 'r' is real"):
        sampler.sample_cqm(cqm)
    cqm = dimod.ConstrainedQuadraticModel()
    a, b = dimod.Binaries("ab")
    cqm.add_constraint(a * b <= 0, label="pair")
    with pytest.raises(ValueError, match="constraints must be linear; 'pair' has products of variables"):
        sampler.sample_cqm(cqm)
    wide = dimod.ConstrainedQuadraticModel()
    wide.add_variable("INTEGER", "i")
    with pytest.raises(ValueError, match=r"bounds at most 2\^20 apart; 'i' goes from 0"):
        sampler.sample_cqm(wide)


def test_labels_that_read_alike_stay_apart():
    cqm = dimod.ConstrainedQuadraticModel()
    a, b, c = dimod.Binaries("abc")
    cqm.set_objective(-a - b - c)
    for one, label in ((a, 1), (b, "1"), (c, "1 (2)")):
        cqm.add_constraint(one <= 0, label=label)
    assert list(ours.Model(cqm).rows) == ["1", "1 (2)", "1 (2) (2)"]
    samples = ours.DCRACQMSampler().sample_cqm(cqm, seed=0)
    assert samples.first.is_feasible
    assert (samples.first.energy, samples.info["lower_bound"]) == (0, 0)


def test_an_integer_without_values_is_named():
    cqm = dimod.ConstrainedQuadraticModel()
    cqm.add_variable("INTEGER", "i", lower_bound=0.2, upper_bound=0.8)
    with pytest.raises(Contradiction, match=r"variable 'i' has no value left: .* from 1 to 0"):
        ours.DCRACQMSampler().sample_cqm(cqm)
