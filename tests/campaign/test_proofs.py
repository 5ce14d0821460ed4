"""A slice of the campaign for proofs, and that it sees what it is there for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dcra.exact.verification import verify
from dcra.io import read_proof
from tests.campaign import proofs
from tests.campaign.cases import Case, Part


def plain():
    rng = np.random.default_rng(0)
    part = Part("l1", rng.standard_normal((6, 6)), rng.standard_normal(6), np.asarray(1.0))
    return Case(6, "spin", "exact", (part,))


@pytest.mark.parametrize("seed", [21, 22])
def test_a_slice_of_the_campaign(seed, monkeypatch):
    monkeypatch.setattr(proofs, "EVERY", 4)
    counts, found = proofs.run(inf, seed, 60, show=False)
    assert not found, "\n".join(found)
    assert counts["solved, optimal"] > 20
    assert counts["files verified, losses"] > 2
    assert counts["files verified, couplings"] > 1
    assert counts["damaged files refused"] > 2
    assert counts["pools proven"] > 0
    assert counts["couplings beside others, optimal"] > 3
    assert counts["l2 or maximum losses, optimal"] > 3


def test_a_bound_above_the_truth_is_seen(monkeypatch):
    result = plain().solve()
    monkeypatch.setattr(proofs, "solved", lambda case: replace(result, lower_bound=result.fun + 1))
    assert any(words.startswith("bound") for words in proofs.judged(plain(), Counter()))


def test_a_proof_that_does_not_hold_is_seen(monkeypatch):
    result = plain().solve()
    wrong = replace(result.certificate, cutoff=result.certificate.cutoff + 1.0)
    monkeypatch.setattr(proofs, "solved", lambda case: replace(result, certificate=wrong))
    found = proofs.judged(plain(), Counter(), np.random.default_rng(0))
    assert any(words.startswith("proof") for words in found)


def test_a_verifier_that_takes_all_is_seen(monkeypatch):
    class Verdict:
        bound = -(10**9)

    monkeypatch.setattr(proofs, "verify", lambda *given: Verdict)
    monkeypatch.setattr(proofs, "damaged", lambda data, rng: data)
    result, case = plain().solve(), plain()
    read = iter([read_proof, lambda path: replace(read_proof(path), cutoff=7.0)])
    monkeypatch.setattr(proofs, "read_proof", lambda path: next(read)(path))
    found = proofs.about_file(case, result, proofs.truth_of(case), Counter(), np.random.default_rng(0))
    assert any(words.startswith("damage") for words in found)


def test_forgeries_are_forgeries():
    """Most of what is done to a proof makes it one that does not hold."""
    case, rng = plain(), np.random.default_rng(0)
    own, refused = case.solve().certificate, 0
    for _ in range(60):
        try:
            verify(proofs.forged(own, rng), case.problem(), True)
        except (ValueError, IndexError):
            refused += 1
    assert refused > 30


def test_a_pool_that_is_not_the_best_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    case = Case(5, "spin", "exact", (), quadratic=rng.standard_normal((5, 5)))
    assert not proofs.about_pool(case, proofs.truth_of(case), 3, Counter())
    own = proofs.dcra.solve(case.problem(), method="exact", seed=0, pool=4)
    worse = replace(own, pool=replace(own.pool, points=own.pool.points[1:], values=own.pool.values[1:]))
    monkeypatch.setattr(proofs.dcra, "solve", lambda *given, **options: worse)
    found = proofs.about_pool(case, proofs.truth_of(case), 3, Counter())
    assert any(words.startswith("pool") for words in found)
