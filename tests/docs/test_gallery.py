"""Every example of the gallery runs, draws, and is written so that the gallery can show it."""

from __future__ import annotations

import re
import runpy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(ROOT.glob("*/*.py"))
SECTIONS = ["clauses", "graphs", "hashing", "regression", "signals"]
NEEDS = ("matplotlib", "sklearn", "networkx")


def test_there_are_enough_of_them_in_every_section():
    assert len(EXAMPLES) >= 12
    assert sorted({path.parent.name for path in EXAMPLES}) == SECTIONS
    for section in SECTIONS:
        assert (ROOT / section / "GALLERY_HEADER.rst").exists()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_title_then_words_and_cells(path):
    text = path.read_text()
    title, rule = text.splitlines()[1:3]
    assert text.startswith('"""\n')
    assert rule == "=" * len(title)
    cells = re.findall(r"^# %%\n(.*)$", text, flags=re.MULTILINE)
    assert len(cells) >= 2
    assert all(cell.startswith("# ") for cell in cells)
    assert "time_limit" not in text  # the pictures are the same on every machine
    assert text.rstrip().endswith("plt.show()")


@pytest.mark.usefixtures("compiled_loops")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_draws(path, monkeypatch, capsys):
    for module in NEEDS:
        if find_spec(module) is None:
            pytest.skip(f"needs {module}")
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    drawn: list[float] = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(_ink(plt.figure(k)) for k in plt.get_fignums()))
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        plt.close("all")
    assert min(drawn, default=0.0) > 0.01
    CHECKS.get(path.stem, lambda text: None)(capsys.readouterr().out)


def _ink(figure) -> float:
    """Share of the pixels that are not white."""
    figure.canvas.draw()
    return float(np.mean(np.asarray(figure.canvas.buffer_rgba())[..., :3].min(axis=-1) < 250))


def devices(text: str) -> None:
    assert "97 active, 0 missed, 0 false alarms" in text  # as docs/compressed-sensing.md says


def cover(text: str) -> None:
    assert "satisfied" in text
    assert text.split("objective")[1].split()[0] == text.split("proven best")[1].split()[0]


def lies(text: str) -> None:
    assert text.count("The best way out is through.") >= 6


def retrieved(text: str) -> None:
    learned, planes = (float(line.split()[-1]) for line in text.splitlines())
    assert learned > 0.95 > planes


CHECKS = {
    "activity_detection": devices,
    "set_cover": cover,
    "error_correction": lies,
    "image_retrieval": retrieved,
}
"""What an example says, where its words on the page rest on it."""
