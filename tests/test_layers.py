"""Imports point one way: every module, read as text, imports only from its own layer's room or from below."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dcra

ROOT = Path(dcra.__file__).parent

LAYERS = [
    {"_array", "costs", "foreign", "messages", "named"},
    {"_kernels"},
    {"losses"},
    {"model"},
    {"compiled"},
    {"lift"},
    {"engines"},
    {"polish"},
    {"exact", "bounds", "accelerator"},
    {"plotting"},
    {"result"},
    {"search"},
    {"auto"},
    {"constrained", "batch"},
    {"methods"},
    {"machines"},
    {"progress"},
    {"api"},
    {"baselines", "datasets", "retrieval", "testing", "theory"},
    {"apps"},
    {"io"},
    {"interop"},
    {"bench"},
    {"cli"},
    {"__init__", "__main__"},
]
"""From the ground up. Rooms of one layer do not know each other."""

HEIGHT = {room: height for height, layer in enumerate(LAYERS) for room in layer}
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """The rooms that a module imports from, anywhere in it: at its head, inside functions, for types."""
    rooms: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "dcra":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dcra."):
            rooms.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {a.name.split(".")[1] for a in node.names if a.name.startswith("dcra.")}
    return rooms - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_down(path):
    room = room_of(path)
    for other in imported(ast.parse((ROOT / path).read_text())) - {room}:
        assert HEIGHT[other] < HEIGHT[room], f"{path} imports {other}, which is not below {room}"


def test_every_room_has_a_layer():
    assert {room_of(path) for path in MODULES} == set(HEIGHT)


def test_the_root_is_small():
    assert len(list(ROOT.glob("*.py"))) <= 14
