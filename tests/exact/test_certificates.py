"""Proofs in files: those that hold are verified without rounding, damaged ones are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dcra
from dcra._kernels.branching import Event
from dcra.compiled.form import compile_problem
from dcra.exact.prove import ProofState
from dcra.exact.verdict import Refuted
from dcra.exact.verification import verify
from dcra.io import read_proof
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES

from .test_prove import CURVED, DOMAINS, LOSSES, drawn, logistic_values, planted, points_of


def proof_of(problem, loops=True):
    state = ProofState(compile_problem(problem, loops), None, 1 << 26)
    while not state.done:
        state.advance(10_000)
    return state.certificate()


def noisy(n=12, seed=0, domain="spin"):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    return dcra.Problem([dcra.Term("l1", A, b)], domain=domain, linear=0.1 * rng.standard_normal(n))


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("exact", [True, False])
def test_a_proof_is_verified(exact, domain, loops):
    problem = noisy(10, 1, domain)
    verdict = verify(proof_of(problem, loops), problem, exact)
    least = min(exact_value(problem, x) for x in points_of(problem))
    assert verdict.bound <= least == verdict.fun
    assert float(least - verdict.bound) < 1e-9
    assert verdict.exact is exact
    assert verdict.nodes >= 1


@pytest.mark.parametrize("loss", LOSSES + CURVED)
@pytest.mark.parametrize("profile", list(PROFILES))
def test_proofs_hold_whatever_the_numbers_are(profile, loss):
    for seed in range(2):
        problem = drawn(profile, loss, seed, list(DOMAINS)[seed % 2])
        proof = proof_of(problem)
        least = min(exact_value(problem, x) for x in points_of(problem))
        assert verify(proof, problem, True).bound <= least


@pytest.mark.parametrize("exact", [True, False])
def test_logistic_losses(exact):
    problem = drawn("normal", "logistic", 4)
    verdict = verify(proof_of(problem), problem, exact)
    least = logistic_values(problem).min()
    assert float(verdict.bound) <= least
    assert float(verdict.fun) == pytest.approx(float(least), rel=1e-12)


def test_constraints_are_part_of_it():
    problem = noisy(8, 2, "binary").replace(constraints=dcra.exactly(3))
    verdict = verify(proof_of(problem), problem)
    points = points_of(problem)
    assert float(verdict.fun) == pytest.approx(problem.objective(points[points.sum(axis=1) == 3]).min())
    with pytest.raises(Refuted, match="another problem"):
        verify(proof_of(problem), problem.replace(constraints=()))


def test_a_file_comes_back_as_it_was(tmp_path):
    problem = planted(20, 40)
    result = dcra.solve(problem, method="exact", starts=2, seed=0)
    result.proof(tmp_path / "proof.npz")
    proof = read_proof(tmp_path / "proof.npz")
    verdict = verify(proof, problem)
    assert float(verdict.fun) == pytest.approx(result.fun, rel=1e-12)
    assert np.array_equal(np.where(proof.point > 0, 1.0, -1.0), result.x)
    other = planted(20, 40, seed=9)
    with pytest.raises(Refuted, match="another problem"):
        verify(proof, other)


def test_there_is_none_without_a_closed_tree(tmp_path):
    result = dcra.solve(planted(20, 40), method="flip", starts=1, seed=0)
    with pytest.raises(ValueError, match="no tree to write"):
        result.proof(tmp_path / "proof.npz")


def test_damaged_files_are_refused(tmp_path):
    """Whatever byte is changed, left out or added."""
    path = tmp_path / "proof.npz"
    problem = noisy(9, 3)
    dcra.solve(problem, method="exact", starts=1, seed=0).proof(path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    same = 0
    for trial in range(150):
        at = int(rng.integers(len(data)))
        broken = bytearray(data)
        if trial % 3 == 0:
            broken[at] ^= int(rng.integers(1, 256))
        elif trial % 3 == 1:
            del broken[at:]
        else:
            broken[at:at] = bytes([int(rng.integers(256))])
        path.write_bytes(bytes(broken))
        try:
            verify(read_proof(path), problem)
            same += 1  # a byte that no array depends on, such as the time in the archive
        except ValueError:
            continue
    assert same < 15


def forged(proof, **changes):
    return replace(proof, **changes)


def test_forged_proofs_do_not_hold():
    problem = noisy(10, 4)
    proof = proof_of(problem)
    verify(proof, problem)
    events = proof.events
    leaf = int(np.flatnonzero(events[:, 0] == Event.LEAF)[-1])
    branch = int(np.flatnonzero(events[:, 0] == Event.BRANCH)[0])
    with pytest.raises(Refuted):
        verify(forged(proof, cutoff=proof.cutoff + 0.1 * abs(proof.cutoff)), problem)
    with pytest.raises(Refuted, match="left open"):
        verify(forged(proof, events=np.delete(events, leaf, axis=0)), problem)
    with pytest.raises(Refuted):
        verify(forged(proof, events=np.delete(events, branch, axis=0)), problem)
    with pytest.raises(Refuted, match="not open"):
        verify(forged(proof, events=np.concatenate([events, events[-1:]])), problem)
    strange = events.copy()
    strange[leaf, 0] = 9
    with pytest.raises(Refuted, match="kind 9"):
        verify(forged(proof, events=strange), problem)
    twice = np.insert(events, branch + 1, events[branch], axis=0)
    with pytest.raises(Refuted):
        verify(forged(proof, events=twice), problem)


def test_slopes_must_be_slopes():
    problem = noisy(10, 4)
    proof = proof_of(problem)
    with pytest.raises(Refuted, match="no loss has"):
        verify(forged(proof, values=3.0 + 0 * proof.values), problem)
    with pytest.raises(Refuted):
        verify(forged(proof, values=0.0 * proof.values), problem)
    with pytest.raises(Refuted, match="rows"):
        verify(forged(proof, ends=proof.ends[:, 1:]), problem)


def test_a_point_must_be_one():
    problem = noisy(4, 5)
    proof = proof_of(problem)
    lone = np.array([[Event.POINT, 0, 0, -1]])
    for exact in (True, False):
        with pytest.raises(Refuted, match="not closed"):
            verify(forged(proof, events=lone), problem, exact)


def test_other_problems_have_no_such_proofs():
    proof = proof_of(noisy(4, 5))
    with pytest.raises(Refuted, match="none that trees"):
        verify(proof, dcra.Problem([dcra.Term("linf", np.eye(4), np.ones(4))]))


@pytest.mark.parametrize("missing", ["events", "ends", "sum", "version"])
def test_files_that_are_no_proofs(tmp_path, missing):
    path = tmp_path / "proof.npz"
    arrays = proof_of(noisy(5, 6)).arrays()
    del arrays[missing]
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=f"not a proof: `{missing}` is missing"):
        read_proof(path)
    path.write_text("nothing of the kind")
    with pytest.raises(ValueError, match=r"not an \.npz archive"):
        read_proof(path)
    with pytest.raises(ValueError, match="no such file"):
        read_proof(tmp_path / "none.npz")


def test_points_that_violate_rows_of_large_numbers_are_ruled_out(tmp_path):
    """Rows of a tree are wider than the problem's by what rounding may cost: 1e16 hides 3."""
    row = LinearConstraint([[-1.0, -2.0, 0.0, -3.0, 3.0, 1e16, 2.0, -3.0]], -1e16 - 4, -1e16 - 4)
    costs = 1e8 + 1e-3 * np.array([2.0, 1.0, -2.0, -2.0, 2.0, -1.0, 0.0, 0.0])
    problem = dcra.Problem(linear=costs, constraints=row)
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.status == "optimal"
    result.proof(tmp_path / "proof.npz")
    verdict = verify(read_proof(tmp_path / "proof.npz"), problem, True)
    assert verdict.bound <= verdict.fun


def test_points_in_doubt_lower_what_a_proof_shows(tmp_path):
    """A point whose rounding may cost more than that of the best one is ruled out for less."""
    hinge = np.array([[1.2e15, -3.0e15, 8.4e14, -1.7e15], [3.1e15, 3.08e15, -1.8e15, 1.6e15]])
    terms = [
        dcra.Term("logistic", np.full((2, 4), 1e-31), np.array([-7e14, -1.8e15])),
        dcra.Term("hinge", hinge, np.array([-9.3e14, 6.3e15])),
    ]
    problem = dcra.Problem(terms, constant=1e9)
    result = dcra.solve(problem, method="exact", seed=0)
    assert result.status == "optimal"
    result.proof(tmp_path / "proof.npz")
    assert verify(read_proof(tmp_path / "proof.npz"), problem, True).bound <= result.fun


def test_sums_of_float64_may_err_either_way(tmp_path):
    """Leaves with logistic losses have no value without rounding: sums in another order are others."""
    A = [[2, 3, -1, -2, -1, -3, -1], [-3, 0, -3, -2, -2, 1, 1], [3, 2, -1, 2, 3, 0, 3]]
    A += [[-3, -3, -2, -1, -1, 2, -3], [-3, 2, -1, 1, 3, -2, 1], [-3, -3, 3, -3, 2, 2, 2]]
    A += [[-3, 3, -2, -1, -1, 1, -1], [-3, -3, 1e15, -3, 0, 1, -1]]
    b = [-9.29690758e8, 4.18072386e8, 9.38118352e8, 7.06939812e8, 5.61965664e8, -9.53334930e8, 2.74941282e8]
    steep = [
        [3.5497898184862432e28, 4.3013330031357980e29, -1.7121474002891320e30, 9.5180470563865408e28],
        [-1.3735209420931756e28, 1.8452751524717454e30, -5.3623402981164140e29, -3.4561391117247128e29],
    ]
    steep[0] += [-1.3813117846950228e30, 8.9816796316259973e29, -5.6394507720293965e29]
    steep[1] += [-6.0380191090591864e29, -1.3607761440909271e30, 5.3024596023674529e29]
    weights = np.array([0.1, 0.1, 0.2, 0.1, 0.1, 0.2, 0.1, 0.1])
    terms = [
        dcra.Term("squared_hinge", np.array(A, float), np.array([*b, 3.91253626e8]), weights),
        dcra.Term("logistic", np.array(steep), np.array([4.8550271569145461e30, 1.4536381094550362e30])),
    ]
    problem = dcra.Problem(terms)
    result = dcra.solve(problem, method="exact", seed=29)
    result.proof(tmp_path / "proof.npz")
    assert verify(read_proof(tmp_path / "proof.npz"), problem, True).bound <= result.fun
