"""The documents say what the code does. Their snippets run as tests of their own (see conftest.py)."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dcra
from dcra.io import FORMATS
from dcra.losses import NAMES
from dcra.methods import METHODS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def first_cells(title: str) -> list[str]:
    """First column of the first table under a heading of the README."""
    section = re.split(r"^#+ ", README.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]


def test_every_loss_is_in_the_readme():
    assert first_cells("Losses") == list(NAMES)
    for name, kind in NAMES.items():
        assert f"| `{name}` | `{kind.__name__}(" in README


def test_every_method_is_in_the_readme():
    assert first_cells("Methods") == list(METHODS)


def test_every_field_of_a_result_is_in_the_readme():
    shown = {field.name for field in fields(dcra.Result)} | {"message", "success", "gap"}
    assert set(first_cells("What comes back")) == shown - {"tiny"}


def test_every_status_is_in_the_readme():
    for status in dcra.Status:
        assert f"`{status.value}`" in README


def test_every_format_is_documented():
    page = (ROOT / "docs" / "formats.md").read_text()
    for name in FORMATS:
        assert f".{name}" in page or f"`{name}`" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    for path in re.findall(r"`((?:src|tests|docs|examples)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path


def test_every_page_is_in_the_contents_of_the_site():
    """A page that no `toctree` names cannot be reached, and fails `make docs`."""
    pages = list((ROOT / "docs").glob("*.md"))
    text = "\n".join(page.read_text() for page in pages)
    trees = re.findall(r"```\{toctree\}(.*?)```", text, flags=re.DOTALL)
    named = {entry.strip("<>") for tree in trees for entry in tree.split()}
    assert {page.stem for page in pages} - {"index"} <= named


@pytest.mark.parametrize(
    "module",
    [
        "dcra.api",
        "dcra.machines.many",
        "dcra.bench.floor",
        "dcra.apps.maxsat.clauses",
        "dcra.apps.maxsat.problem",
        "dcra.apps.maxsat.solve",
        "dcra.apps.mimo.detect",
    ],
)
def test_examples_in_docstrings(module):
    tried = doctest.testmod(import_module(module))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_history_example(tmp_path):
    path = tmp_path / "history.png"
    words = ["--size", "20", "30", "--seconds", "0.2", "--output", str(path)]
    command = [sys.executable, str(ROOT / "examples" / "history.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "bits wrong" in done.stdout
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_ten_lines_are_ten():
    block = README.split("## A problem in ten lines")[1].split("```python\n")[1].split("```")[0]
    assert len([line for line in block.splitlines() if line]) <= 10


def test_change_fragments_are_of_known_types():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    types = "|".join(kind["directory"] for kind in settings["type"])
    for fragment in (ROOT / settings["directory"]).glob("[!.]*"):
        assert re.fullmatch(rf"(\+[\w-]+|\d+)\.({types})\.md", fragment.name), fragment.name
    assert "<!-- towncrier release notes start -->" in (ROOT / settings["filename"]).read_text()


def test_the_demo_draws_what_it_says():
    from dcra.cli import demonstration as demo

    A, b, hidden = demo.contaminated(0)
    n, r, share = demo.HIDDEN
    assert (A.shape, b.shape, hidden.shape) == ((r, n), (r,), (n,))
    assert np.mean(np.abs(A @ hidden - b) > 3) == pytest.approx(share, abs=0.06)
    assert demo.gaussian(0).terms[0].A.shape == demo.PAPER[::-1]
