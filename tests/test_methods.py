"""Methods by name, and the names of engines: a result says what ran."""

import numpy as np
import pytest

import dcra
from dcra.engines import DCRA, Polished, Sweep
from dcra.methods import METHODS, engine_of, label_of, resolve
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
