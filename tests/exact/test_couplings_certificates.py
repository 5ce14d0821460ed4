"""Proofs about couplings in files: those that hold are verified without rounding, others are refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dcra
from dcra.cli import run
from dcra.compiled.form import compile_problem
from dcra.exact.couplings_certificate import PairCertificate, PairEvent
from dcra.exact.couplings_tree import CouplingsProof
from dcra.exact.couplings_verification import spin_form
from dcra.exact.definite_parts import lacking
from dcra.exact.prove import Prove
from dcra.exact.verdict import Refuted
from dcra.exact.verification import verify
from dcra.io import read_proof
from dcra.model.exact_value import exact_value
from tests.campaign.cases import PROFILES
from tests.campaign.proofs import damaged, forged_pairs

from .test_couplings import DOMAINS, drawn, glass, least_of, no_points_at_once, points_of

pytestmark = pytest.mark.usefixtures("compiled_loops")

RECORD = 1 << 26
__all__ = ["no_points_at_once"]


def proof_of(problem, points=None, record=RECORD):
    state = CouplingsProof(compile_problem(problem), points, record)
    while not state.done:
        state.advance(10**8)
    return state.certificate()


def real(n=12, seed=0, domain="spin"):
    rng = np.random.default_rng(seed)
    return dcra.Problem(
        quadratic=rng.standard_normal((n, n)), linear=rng.standard_normal(n), domain=domain, constant=0.7
    )


@pytest.mark.usefixtures("no_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
@pytest.mark.parametrize("profile", list(PROFILES))
def test_proofs_hold_whatever_the_numbers_are(profile, domain):
    for seed in range(6):
        problem = drawn(profile, seed, domain)
        proof = proof_of(problem)
        if proof is not None:  # a bound that float64 holds
            verdict = verify(proof, problem)
            assert verdict.bound <= least_of(problem) <= verdict.fun
            assert verdict.exact


@pytest.mark.usefixtures("no_points_at_once")
@pytest.mark.parametrize("domain", list(DOMAINS))
def test_what_is_shown_is_the_optimum(domain):
    for seed in range(4):
        problem = real(10, seed, domain)
        verdict = verify(proof_of(problem), problem)
        assert verdict.fun == least_of(problem)
        assert float(verdict.fun - verdict.bound) < 1e-9
        whole = drawn("small integers", seed, domain)
        verdict = verify(proof_of(whole), whole)
        assert verdict.bound == verdict.fun == least_of(whole)  # the next value that there is


def test_a_tree_of_some_nodes():
    problem = glass()
    result = dcra.solve(problem, method="exact", starts=2, seed=0)
    kinds = Counter(result.certificate.events[:, 0].tolist())
    assert kinds[PairEvent.BRANCH] >= 1
    assert kinds[PairEvent.LEAF] >= 2
    verdict = verify(result.certificate, problem)
    assert verdict.bound == verdict.fun == result.fun
    assert verdict.nodes == 1 + 2 * kinds[PairEvent.BRANCH] == result.nodes


@pytest.mark.usefixtures("no_points_at_once")
def test_nodes_that_are_closed_by_the_bound_of_their_parent():
    """From the worst of points; what is better is met when nodes are waiting."""
    closed = 0
    for seed in range(20):
        problem = glass(11, seed)
        worst = max(points_of(problem), key=lambda x: float(problem.objective(x)))
        proof = proof_of(problem, worst[None])
        verdict = verify(proof, problem)
        assert verdict.bound == verdict.fun == least_of(problem)
        leaves = proof.events[proof.events[:, 0] == PairEvent.LEAF]
        closed += len(leaves) - np.unique(leaves[:, 5]).size
    assert closed


def test_threads_change_nothing_in_a_proof():
    one, two = (
        dcra.solve(glass(), method="exact", starts=2, seed=0, n_jobs=k).certificate.arrays() for k in (1, 2)
    )
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_what_takes_too_much_is_not_written():
    result = dcra.solve(glass(), method=Prove(record=20_000), starts=2, seed=0)
    assert result.status is dcra.Status.OPTIMAL
    assert result.certificate is None
    assert dcra.solve(glass(), method=Prove(record=0), starts=2, seed=0).certificate is None


def test_search_and_proof_are_the_same_with_and_without_a_record():
    kept, bare = (dcra.solve(glass(), method=Prove(record=r), starts=2, seed=0) for r in (RECORD, 0))
    assert (kept.nodes, kept.fun, kept.lower_bound) == (bare.nodes, bare.fun, bare.lower_bound)


def test_from_the_file_to_the_verdict(tmp_path, capsys):
    rng = np.random.default_rng(0)
    problem, other, proof = (tmp_path / name for name in ("problem.npz", "other.npz", "proof.npz"))
    Q = np.triu(rng.integers(-3, 4, (20, 20)), 1).astype(float)
    dcra.io.write(problem, dcra.Problem(quadratic=Q))
    dcra.io.write(other, dcra.Problem(quadratic=Q + np.eye(20, k=1)))
    options = ["--method", "exact", "--proof", str(proof), "--starts", "1", "--seed", "0", "--quiet"]
    assert run(["solve", str(problem), *options]) == 0
    capsys.readouterr()
    assert run(["verify", str(proof), str(problem)]) == 0
    said = capsys.readouterr().out
    assert "verified without rounding" in said
    assert "sets of multipliers" in said
    assert run(["verify", str(proof), str(other)]) == 1
    assert "another problem" in capsys.readouterr().out
    assert isinstance(read_proof(proof), PairCertificate)


@pytest.mark.usefixtures("no_points_at_once")
def test_damaged_files_are_refused(tmp_path):
    """Whatever byte is changed, left out or added: a thousand times."""
    path, problem, rng = tmp_path / "proof.npz", real(9, 3), np.random.default_rng(0)
    dcra.solve(problem, method="exact", starts=1, seed=0).proof(path)
    data, own = path.read_bytes(), read_proof(path).arrays()
    unread = 0
    for _ in range(1000):
        path.write_bytes(damaged(data, rng))
        try:
            found = read_proof(path)
            verify(found, problem)
        except ValueError:
            continue
        unread += 1  # a byte that no array depends on, such as the time in the archive
        assert all(np.array_equal(own[name], part) for name, part in found.arrays().items())
    assert unread < 100


@pytest.mark.usefixtures("no_points_at_once")
def test_forged_proofs_show_nothing_that_is_not_true():
    """Other contents under a right sum, a thousand times."""
    rng, refused = np.random.default_rng(0), 0
    for seed in range(10):
        problem = real(9, seed) if seed % 2 else glass(10, seed)
        own, least = proof_of(problem), least_of(problem)
        for _ in range(100):
            try:
                assert verify(forged_pairs(own, rng), problem).bound <= least
            except Refuted:
                refused += 1
    assert refused > 300


def event(kind, node=0, i=0, j=0, sign=0, at=0):
    return [kind, node, i, j, sign, at]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "1 nodes are left open"),
        ([event(PairEvent.LEAF, at=-1)], "node 0 is not closed"),
        ([event(PairEvent.LEAF, at=10**6)], "node 0 is not closed"),
        ([event(PairEvent.POINTS)], "node 0 is not closed"),
        ([event(PairEvent.LEAF, node=4)], "node 4 is spoken of where it is not open"),
        ([event(7)], "no events of kind 7"),
        ([event(PairEvent.BRANCH, 0, 1, 1, 1, 1)], "spins 1 and 1 are not free"),
        ([event(PairEvent.BRANCH, 0, 1, 99, 1, 1)], "spins 1 and 99 are not free"),
        ([event(PairEvent.BRANCH, 0, 1, 2, 3, 1)], "spins 1 and 2 are not free"),
        ([event(PairEvent.BRANCH, 0, 1, 2, 1, 0)], "children that are there already"),
        ([event(PairEvent.BRANCH, 0, 1, 2, 1, 1)], "2 nodes are left open"),
        ([event(PairEvent.MERGE, 0, 1, 2, 1, -1)], "spins 1 and 2 cannot be merged"),
    ],
)
def test_conclusions_that_do_not_follow_are_refused(events, words):
    problem = glass(24, 1)
    proof = replace(proof_of(problem), events=np.array(events, np.int64).reshape(-1, 6))
    with pytest.raises(Refuted, match=words):
        verify(proof, problem)


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("y", lambda y: y[:, 1:], "multipliers for 25 spins"),
        ("y", lambda y: y + np.nan, "must be numbers"),
        ("point", lambda x: 0 * x, "-1 and 1"),
        ("sets", lambda sets: sets + 10**6, "sets of triangles that are there"),
        ("ends", lambda ends: ends[::-1], "sets of triangles that are there"),
        ("merged", lambda merged: merged[:, 1:], "numbers for spins that are one"),
        ("triangles", lambda rows: rows + 25, "three spins"),
        ("prices", lambda prices: -prices, "must not be below 0"),
        ("unit", lambda unit: 3 * unit, "power of two"),
        ("bound", lambda bound: np.nan, "power of two, and its bound a number"),
    ],
)
def test_parts_that_do_not_fit_are_refused(part, change, words):
    problem = glass(24, 1)
    proof = proof_of(problem)
    with pytest.raises(Refuted, match=words):
        verify(replace(proof, **{part: change(getattr(proof, part))}), problem)


def test_other_problems_are_other_problems():
    problem = real(8, 0)
    proof = proof_of(problem)
    others = (
        problem.replace(linear=None),
        problem.replace(constant=0.0),
        problem.replace(domain="binary"),
        problem.replace(constraints=dcra.exactly(3)),
        real(8, 1),
    )
    for other in others:
        with pytest.raises(Refuted, match="another problem"):
            verify(proof, other)
    losses = dcra.Problem([dcra.Term("l1", np.eye(8), np.zeros(8))])
    for other, own in ((losses, proof), (problem, dcra.solve(losses, method="exact", seed=0).certificate)):
        if own is not None:
            with pytest.raises(Refuted):
                verify(own, other)


@pytest.mark.parametrize("domain", list(DOMAINS))
def test_the_form_has_the_values_of_the_problem_without_rounding(domain):
    for profile, draw in PROFILES.items():
        rng = np.random.default_rng(3)
        problem = dcra.Problem(
            quadratic=draw(rng, (5, 5)), linear=draw(rng, (5,)), domain=domain, constant=0.1
        )
        form = spin_form(problem)
        for s in product((-1, 1), repeat=5):
            z = np.array([1, *s], object)
            x = np.array(s, float) if domain == "spin" else (np.array(s, float) + 1) / 2
            value = int(z @ form.M @ z) * Fraction(2) ** form.unit + form.constant
            assert value == exact_value(problem, x) == form.next_value(value), profile


def test_what_a_matrix_lacks_to_be_semidefinite():
    rng = np.random.default_rng(0)
    for size in (1, 2**20, 2**80):
        for k in (1, 2, 5, 30):
            B = rng.integers(-9, 10, (k, k)).astype(object)
            one = np.eye(k, dtype=int).astype(object)
            whole = B @ B.T * size + one
            assert lacking(whole) <= 1e-9 * k * float(np.trace(whole)) + 1
            lower = whole - 200 * k * size * one
            least = np.linalg.eigvalsh(lower.astype(float) / size)[0] * size
            lack = lacking(lower)
            assert lack is None or lack >= -least * (1 - 1e-9) > 0
    flat = np.outer(*2 * [np.array([3, -1, 4, 1, -5], object)])  # singular
    assert lacking(flat * 2**100) <= 2**70
    assert lacking(np.zeros((0, 0), object)) == 0
    assert lacking(np.array([[0, 1], [1, 0]], object)) >= 2
