"""Imports point one way: every module, read as text, imports only from its own layer's room or from below."""

from __future__ import annotations

import ast
import subprocess
import sys
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
    {"solving"},
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


LATER = ("batch", "interop", "machines", "model.fixing", "model.integers", "search.decoded", "solving.inside")


def test_the_package_loads_what_a_plain_solve_needs_and_no_more():
    """In a fresh interpreter; a plain call loads none of it either."""
    code = (
        "import sys, dcra; dcra.minimize([[1.0, 2.0], [3.0, -1.0]], [3.0, 2.0], seed=0, starts=1);"
        f"print([m for m in {LATER} if 'dcra.' + m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
