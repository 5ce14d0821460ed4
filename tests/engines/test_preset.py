"""The paper's preset: which constants it has, and what the L that the theory asks for would do."""

from __future__ import annotations

import numpy as np
import pytest

from dcra import theory
from dcra.bench.floor import l1_random
from dcra.bench.gaussian import instance
from dcra.compiled.form import compile_problem
from dcra.engines.base import Starts
from dcra.engines.dcra import DCRA, first_curvature


def one_start(engine: DCRA, name: str) -> float:
    """The objective of one start, rounded, without polish."""
    problem = instance(name)
    compiled = compile_problem(problem)
    state = engine.start(compiled, Starts(0, 0, 1))
    while not state.done:
        state.advance(1 << 24)
    return float(problem.objective(compiled.decode(state.candidates()[0])))


def test_the_papers_constants_are_the_papers():
    preset = DCRA.paper()
    assert (preset.rank, preset.rho_init, preset.rho_growth) == (None, 1.0, 1.2)
    compiled = compile_problem(instance("l1-100x50-0"))
    assert preset._rank(compiled) == 5


def test_the_presets_curvature_is_below_the_theorys():
    compiled = compile_problem(instance("l1-100x50-0"))
    preset = first_curvature(DCRA.paper(), compiled)
    assert preset == pytest.approx(np.linalg.norm(theory.matrix(compiled), 2) ** 2 / 10, rel=1e-2)
    assert theory.curvature_bound(compiled, 5.0) > 2 * 101 * preset


@pytest.mark.parametrize(("n", "d"), [(100, 50), (100, 100)])
def test_the_theorys_curvature_gives_random_signs(n, d):
    """Means of twelve instances: the preset is far below what random signs give, L = Lf is not."""
    names = [f"l1-{n}x{d}-{i}" for i in range(12)]
    bounds = [theory.curvature_bound(compile_problem(instance(name)), 5.0) for name in names]
    timid = np.mean([one_start(DCRA.paper(curvature=L), name) for L, name in zip(bounds, names, strict=True)])
    preset = np.mean([one_start(DCRA.paper(), name) for name in names])
    assert timid > 0.9 * l1_random(n, d)
    assert preset < 0.5 * l1_random(n, d)
