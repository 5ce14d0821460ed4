"""Methods by name, and the names of engines: a result says what ran."""

import numpy as np
import pytest

import dcra
from dcra._kernels import library
from dcra.apps.maxsat.search import ClauseAnneal
from dcra.compiled.form import compile_problem
from dcra.engines import DCRA, Polished, Sweep
from dcra.exact.closest_pairs import Closest
from dcra.methods import METHODS, engine_of, label_of, missing, resolve
from dcra.polish.anneal import Anneal
from dcra.polish.flip import Flip


@pytest.mark.parametrize("name", [name for name in METHODS if name != "auto"])
def test_the_engine_of_a_name_is_called_so(name):
    assert label_of(engine_of(name)) == name
    assert resolve(name)[0] == name


@pytest.mark.parametrize(
    ("engine", "label"),
    [
        (DCRA.paper(), "dcra-paper"),
        (DCRA(), "dcra"),
        (DCRA(rank=7), "dcra"),
        (Polished(DCRA(), Flip()), "dcra"),
        (Polished(DCRA.paper(), Flip()), "dcra-paper + flip"),
        (Polished(Sweep(sweeps=10), Anneal()), "sweep + anneal"),
    ],
)
def test_an_engine_is_called_after_what_it_is(engine, label, rng):
    assert label_of(engine) == label
    result = dcra.minimize(rng.standard_normal((4, 24)), np.ones(4), method=engine, starts=1, seed=0)
    assert result.method == label


def test_auto_has_no_engine_and_others_are_refused():
    assert resolve("auto") == ("auto", None)
    with pytest.raises(ValueError, match="did you mean 'sweep'"):
        resolve("swep")
    with pytest.raises(TypeError, match="a name or an engine of dcra"):
        resolve(3)


@pytest.mark.parametrize(
    "engine", [Anneal(), engine_of("tabu"), ClauseAnneal(1), Closest()], ids=lambda e: e.name
)
def test_an_engine_of_loops_says_why_there_are_none(monkeypatch, engine):
    """Where there is no compiler the losses are not to blame."""
    monkeypatch.setattr(library, "why_not", lambda: "there was no compiler")
    known = dcra.Problem([dcra.Term("l1", np.eye(5), 0.5)])
    without = missing(engine, compile_problem(known, loops=False))
    assert "the compiled loops (there was no compiler)" in without
    with_loops = missing(engine, compile_problem(known, loops=True))
    assert not any("compiled loops" in lack for lack in with_loops)
    unknown = dcra.Problem([dcra.Term("linf", np.eye(5), 0.5)])
    lacks = missing(Anneal(), compile_problem(unknown, loops=False))
    assert lacks == ["losses known to the compiled loops and A on the host"]
