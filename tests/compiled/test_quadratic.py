"""Couplings as the loops see them: what is counted before they are laid out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dcra._kernels.store import Dense
from dcra.bounds.semidefinite import SdpStage
from dcra.compiled.form import compile_problem
from dcra.compiled.quadratic import stored_couplings
from dcra.model.problem import Problem


def _couplings(share, n=60):
    rng = np.random.default_rng(0)
    Q = np.triu(rng.standard_normal((n, n)) * (rng.random((n, n)) < share), 1)
    return Q + Q.T


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array])
def test_stored_couplings_are_counted_before_they_are_laid_out(share, made):
    compiled = compile_problem(Problem(quadratic=made(_couplings(share))))
    counted = stored_couplings(compiled.quadratic, compiled.n)
    C = compiled.quadratic_tables.C
    assert counted == (C.cols if isinstance(C, Dense) else C.val).size


def test_no_couplings_are_none():
    assert stored_couplings(None, 5) == 0


def test_a_bound_that_cannot_be_afforded_lays_nothing_out(monkeypatch):
    from dcra.compiled import form

    def refuse(*_):
        raise AssertionError("the tables were built")

    monkeypatch.setattr(form, "build_quadratic_tables", refuse)
    compiled = compile_problem(Problem(quadratic=_couplings(0.5)))
    assert SdpStage(compiled, seconds=1e-6).done
