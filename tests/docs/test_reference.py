"""Every public object is described, stands in the reference, and its examples run.

Public is what `__all__` of a public module names; where a module has none, its functions and classes without
an underscore. Of a class, its methods and properties without an underscore count, too. What overrides
something described may leave the words to it.
"""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dcra
from dcra import apps, interop

PAGES = Path(__file__).parents[2] / "docs" / "reference"

MAIN = [
    *("dcra.minimize", "dcra.solve", "dcra.minimize_batch", "dcra.solve_many", "dcra.Problem", "dcra.Term"),
    *("dcra.Pool", "dcra.integers", "dcra.exactly", "dcra.at_most", "dcra.at_least", "dcra.clause"),
    *("dcra.implies", "dcra.one_of", "dcra.soft", "dcra.apps.maxcut", "dcra.apps.qubo", "dcra.apps.ising"),
    *("dcra.apps.qap.qap", "dcra.apps.maxsat.solve", "dcra.apps.mimo.detect"),
    *("dcra.apps.compressed_sensing.recover", "dcra.apps.BinaryRegressor", "dcra.apps.SupervisedHashing"),
]
"""What a newcomer calls first: parameters and an example are there as well."""


def public_modules() -> list[str]:
    named = [f"dcra.{name}" for name in dcra.__all__ if isinstance(getattr(dcra, name), ModuleType)]
    named += [f"dcra.apps.{name}" for name in apps.__all__ if isinstance(getattr(apps, name), ModuleType)]
    found = [module.name for module in pkgutil.iter_modules(interop.__path__)]
    return [
        "dcra",
        *named,
        *(f"dcra.interop.{name}" for name in found if not name.startswith("_")),
    ]


def loaded(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        pytest.skip(str(error))


def names_of(module: Any) -> list[str]:
    if hasattr(module, "__all__"):
        return list(module.__all__)
    if hasattr(module, "_LAZY"):
        return list(module._LAZY)
    own = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
    return [name for name in own if not name.startswith("_") and defined(getattr(module, name))]


def defined(one: Any) -> bool:
    return inspect.isclass(one) or inspect.isroutine(one)


def described(one: Any) -> bool:
    """Whether it has words of its own, or those of what it overrides; not those that dataclasses make up."""
    words = inspect.getdoc(one) or ""
    return bool(words) and not words.startswith(f"{getattr(one, '__name__', '?')}(")


def members(cls: type) -> Iterator[tuple[str, Any]]:
    for name, one in vars(cls).items():
        plain = one.__func__ if isinstance(one, staticmethod | classmethod) else one
        if not name.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
            yield name, getattr(cls, name)


@pytest.mark.parametrize("name", public_modules())
def test_every_public_definition_is_described(name):
    module = loaded(name)
    assert module.__doc__
    missing = []
    for label in names_of(module):
        one = getattr(module, label)
        if not defined(one):
            continue
        missing += [] if described(one) else [label]
        if inspect.isclass(one):
            missing += [f"{label}.{method}" for method, body in members(one) if not described(body)]
    assert missing == []


def listed() -> set[str]:
    """Full names of all that the pages of the reference list."""
    found: set[str] = set()
    for page in PAGES.glob("*.md"):
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            module = re.search(r"currentmodule:: (\S+)", block)
            found |= set(re.findall(r"py:data:: (\S+)", block))
            if module is not None:
                entries = block.split(":toctree: generated", 1)[1].split()
                found |= {f"{module[1]}.{entry}" for entry in entries}
    return found


@pytest.mark.parametrize("name", public_modules())
def test_every_public_object_stands_in_the_reference(name):
    module, there = loaded(name), listed()
    for label in names_of(module):
        one = getattr(module, label)
        if isinstance(one, ModuleType):
            continue
        others = {f"{parent}.{label}" for parent in public_modules()} if defined(one) else set()
        twins = {other for other in others & there if _of(other) is one}
        assert f"{name}.{label}" in there or twins, f"{name}.{label} is on no page of docs/reference"


def _of(name: str) -> Any:
    module, _, label = name.rpartition(".")
    return getattr(loaded(module), label)


def test_what_the_reference_lists_is_there():
    for name in sorted(listed()):
        assert _of(name) is not None, name


@pytest.mark.parametrize("name", MAIN)
def test_main_objects_have_parameters_and_an_example(name):
    words = inspect.getdoc(_of(name)) or ""
    assert "Parameters\n----------" in words
    assert ">>> " in words


def test_examples_in_docstrings_run():
    """Of every module that defines something public: what is shown is what comes out."""
    homes = set()
    for name in public_modules():
        try:
            module = import_module(name)
        except ImportError:
            continue
        things = (getattr(module, label) for label in names_of(module))
        homes |= {name} | {one.__module__ for one in things if defined(one)}
    tried = 0
    for home in sorted(homes):
        outcome = doctest.testmod(import_module(home))
        assert outcome.failed == 0, home
        tried += outcome.attempted
    assert tried > 100
