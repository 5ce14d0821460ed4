"""Objects by name, 'module:attribute', imported when they are used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """The object behind 'module:attribute' or 'module:attribute.attribute'."""
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


@cache
def offered(group: str) -> dict[str, str]:
    """What installed packages offer under an entry-point group: 'module:attribute' by name."""
    from importlib.metadata import entry_points

    return {one.name: one.value for one in entry_points(group=group)}
