"""Objects by name."""

from __future__ import annotations

import sys
from math import pi

import pytest

from dcra.named import load


def test_an_attribute_and_one_of_an_attribute():
    assert load("math:pi") is pi
    assert load("collections:OrderedDict.fromkeys")("a") == {"a": None}
    assert load("os.path:join") is __import__("os").path.join


def test_a_module_is_imported_when_its_object_is_used(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert load("colorsys:rgb_to_hsv")(0, 0, 0) == (0.0, 0.0, 0)
    assert "colorsys" in sys.modules


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("no_such_module:thing", ModuleNotFoundError, "No module named 'no_such_module'"),
        ("math:tau.no_such", AttributeError, "no attribute 'no_such'"),
        ("math:no_such", AttributeError, "module 'math' has no attribute 'no_such'"),
        ("math", AttributeError, "module 'math' has no attribute ''"),
    ],
)
def test_what_is_not_there(name, error, match):
    with pytest.raises(error, match=match):
        load(name)
