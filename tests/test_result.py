"""Results: frozen, picklable, printed in aligned lines, plain for JSON, drawn on demand."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from math import inf
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import dcra
from dcra.plotting import picture_types, plot_comparison, save_history
from dcra.result import BatchResult, Progress, Result, Status, relative_gap

mpl.use("Agg")

HISTORY = (Progress(0.001, 9.0, -inf), Progress(0.01, 9.0, 2.0), Progress(0.5, 8.0, 6.0))


def make(**changes: Any) -> Result:
    fields: dict[str, Any] = {
        "x": np.array([1.0, -1.0, 1.0]),
        "fun": 8.0,
        "lower_bound": 6.0,
        "status": Status.TIME_LIMIT,
        "history": HISTORY,
        "n_starts": 4,
        "nit": 99,
        "seconds": 0.75,
        "seed": 3,
        "method": "auto",
    }
    return Result(**fields | changes)


def test_text_is_aligned():
    assert str(make()).splitlines() == [
        "   objective  8",
        " lower bound  6  (gap 25.00%)",
        "      status  time_limit: the time limit was reached; this is the best point so far",
        "   variables  3, 2 of them up",
        "        work  4 starts, 99 iterations, 0.75 s",
        "      method  auto, seed 3",
    ]
    assert " lower bound  none" in str(make(lower_bound=-inf))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"n_constraints": 2}, " constraints  2 rows, satisfied"),
        ({"n_constraints": 1, "feasible": False, "violation": 0.5}, " constraints  1 row, VIOLATED by 0.5"),
        ({"n_constraints": 9, "constraint_kind": "clause"}, "hard clauses  9, all true"),
        (
            {"n_constraints": 9, "constraint_kind": "clause", "feasible": False, "violation": 3.0},
            "hard clauses  9, 3 FALSE",
        ),
    ],
)
def test_text_says_what_became_of_constraints(changes, line):
    assert str(make(**changes)).splitlines()[3] == line


def test_the_kind_of_constraints_is_stated_and_not_guessed(rng):
    A, b = rng.standard_normal((3, 4)), np.ones(3)
    rows = dcra.minimize(A, b, constraints=dcra.exactly(2), starts=1, seed=0)
    assert (rows.n_constraints, rows.constraint_kind) == (1, "linear")
    assert rows.penalty_weights is not None
    free = dcra.minimize(A, b, starts=1, seed=0)
    assert (free.n_constraints, free.penalty_weights) == (0, None)
    clauses = dcra.apps.maxsat.solve([[1], [2]], hard=[[-1, -2]], seed=0).result
    assert (clauses.n_constraints, clauses.constraint_kind) == (1, "clause")
    numbers = rows.to_dict()
    assert numbers["penalty_weights"] == rows.penalty_weights.tolist()
    assert "weights" not in numbers


def test_results_are_frozen():
    with pytest.raises(FrozenInstanceError):
        make().fun = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("again", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy])
def test_results_travel(again):
    for result in (make(), dcra.minimize(np.eye(3), np.ones(3), seed=0)):
        twin = again(result)
        assert np.array_equal(twin.x, result.x)
        assert twin.to_dict() == result.to_dict()
        assert str(twin) == str(result)


def test_dictionary_is_plain_json():
    numbers = json.loads(json.dumps(make().to_dict(), allow_nan=False))
    assert numbers["x"] == [1, -1, 1]
    assert numbers["history"] == [[0.001, 9.0, None], [0.01, 9.0, 2.0], [0.5, 8.0, 6.0]]
    assert numbers["status"] == "time_limit"
    assert numbers["gap"] == 0.25
    unbounded = make(lower_bound=-inf).to_dict()
    assert unbounded["lower_bound"] is None
    assert unbounded["gap"] is None
    assert make(target=-inf).to_dict()["target"] is None
    assert make(target=5.0).to_dict()["target"] == 5


def test_dictionary_of_a_real_solve(rng):
    for A in (rng.standard_normal((4, 5)), rng.standard_normal((4, 5)).astype(np.float32)):
        result = dcra.minimize(A, np.ones(4), seed=np.int64(5), domain="binary")
        numbers = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert numbers["fun"] == result.fun
        assert numbers["seed"] == 5


def test_gap():
    assert relative_gap(8.0, 6.0, 0.0) == 0.25
    assert relative_gap(8.0, 8.5, 0.0) == 0
    assert relative_gap(8.0, 7.99, 0.1) == 0
    assert relative_gap(8.0, -inf, 0.0) == inf
    assert relative_gap(-8.0, -10.0, 0.0) == 0.25
    assert relative_gap(0.0, 0.0, 0.0) == 0


def test_gaps_of_values_near_zero_are_differences():
    assert relative_gap(0.0, -2.0) == inf
    assert " lower bound  -2  (2 below)" in str(make(fun=0.0, lower_bound=-2.0))
    assert " lower bound  -2  (2 below)" in str(make(fun=1e-9, lower_bound=-2.0))
    assert " lower bound  0  (gap 0.00%)" in str(make(fun=0.0, lower_bound=0.0))
    assert " lower bound  6" in str(make(feasible=False)).splitlines()
    assert make(fun=0.0, lower_bound=-2.0).to_dict()["gap"] is None


def test_there_are_no_negative_zeros():
    linear = dcra.Problem(linear=np.array([-0.0, 0.0]), constant=-0.0)
    result = dcra.solve(linear, seed=0, pool=2)
    assert str(np.array([result.fun, result.lower_bound, *result.pool.values])) == "[0. 0. 0. 0.]"
    assert "-0" not in str(result)


def test_the_summary_has_the_story():
    lines = make().summary().splitlines()
    assert lines[: len(str(make()).splitlines())] == str(make()).splitlines()
    assert lines[-4:] == [
        "improvements, as seconds, objective and lower bound:",
        "       0.001  9                 -inf",
        "        0.01  9                 2",
        "         0.5  8                 6",
    ]
    long = make(history=tuple(Progress(i / 10, 100.0 - i, -1.0) for i in range(50)))
    words = long.summary().splitlines()
    assert "         ...  30 more" in words
    assert len(words) == 6 + 1 + 20 + 1


def test_notebooks_get_a_table():
    html = make(method="<b>", n_constraints=2)._repr_html_()
    assert html.startswith("<table>")
    assert html.count("<tr>") == len(str(make(n_constraints=2)).splitlines())
    assert "&lt;b&gt;, seed 3" in html
    assert "2 rows, satisfied" in html


def test_plots_have_the_target():
    from matplotlib.figure import Figure

    ax = make(target=5.0).plot(Figure().subplots())
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["best objective: 8", "lower bound: 6", "target: 5"]
    assert dcra.minimize(np.eye(2), np.ones(2), target=1.0, seed=0).target == 1.0


@pytest.mark.parametrize("status", Status)
def test_every_status_has_its_words(status):
    assert make(status=status).message
    assert status == status.value
    assert make(status=status).success


def test_batches_print_in_one_line():
    batch = BatchResult(np.ones((3, 2)), np.array([1.0, 2.0]), Status.CONVERGED, 0.5, 0, "sweep")
    assert str(batch) == "2 problems of 3 variables, mean objective 1.5, 0.5 s (converged)"
    assert batch.message


def test_plot_draws_objective_and_bound():
    ax = make().plot()
    assert [line.get_label() for line in ax.get_lines()][::2] == ["best objective: 8", "lower bound: 6"]
    assert ax.get_xscale() == "log"
    assert ax.get_lines()[0].get_ydata()[-1] == 8
    assert ax.get_lines()[2].get_ydata()[-1] == 6
    mpl.pyplot.close(ax.figure)


def test_ticks_of_a_plot_do_not_overlap():
    """Over little more than a decade, matplotlib writes a number at every minor tick."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    ax = make(seconds=0.4, history=((0.015, 9.0, 0.0), (0.3, 8.0, 6.0))).plot(figure.subplots())
    FigureCanvasAgg(figure).draw()
    assert ax.get_xscale() == "log"
    assert {label.get_text() for label in ax.get_xticklabels(minor=True)} == {""}


def test_plot_into_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert make(lower_bound=-inf, history=HISTORY[:1]).plot(ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["best objective: 8"]
    assert mpl.pyplot.get_fignums() == []


def test_plots_of_results_without_history():
    from matplotlib.figure import Figure
    from scipy.optimize import LinearConstraint

    odd = LinearConstraint([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0.0]], 1, 1)
    result = dcra.solve(dcra.Problem(linear=np.zeros(4), domain="binary", constraints=odd))
    assert not result.feasible
    ax = result.plot(Figure().subplots())
    assert ax.get_title().endswith(result.status.value.replace("_", " "))


def test_comparison_names_everything():
    from matplotlib.figure import Figure

    ax = plot_comparison({"flip": make(fun=9.0), "auto": make()}, {"floor": 5.0}, Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["flip: 9", "auto: 8"]
    assert [text.get_text() for text in ax.texts] == ["floor"]


def test_pictures_in_files(tmp_path):
    save_history(make(), tmp_path / "p.svg")
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert {".png", ".pdf", ".svg"} <= set(picture_types())


def test_plot_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plotting needs matplotlib: pip install 'dcra\[plot\]'"):
        make().plot()


@pytest.mark.parametrize("first", ["import dcra", "import dcra; dcra.minimize, dcra.losses, dcra.io"])
def test_importing_is_light(first):
    """What SciPy, other libraries and the command line bring is loaded where it is used."""
    heavy = ["scipy", "rich", "click", "torch", "jax", "matplotlib", "sklearn"]
    code = f"{first}; import sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_first_solve_loads_nothing():
    """What it needs came with the package: a short time limit is for the search."""
    code = """
import sys, numpy as np, dcra
A = np.random.default_rng(0).standard_normal((50, 100))
known = set(sys.modules)
dcra.minimize(A, A[:, 0] + 0.3, starts=1, seed=0)
print(*(set(sys.modules) - known))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_batches_in_notebooks():
    known = {"x": np.ones((3, 2)), "seconds": 0.5, "seed": 3, "method": "<b>", "status": Status.CONVERGED}
    html = BatchResult(fun=np.array([1.0, 4.0]), feasible=np.array([True, False]), **known)._repr_html_()
    for words in ("2 of 3 variables", "mean 2.5, least 1", "converged: all", "by 1 of 2", "&lt;b&gt;"):
        assert words in html
    assert "constraints" not in BatchResult(fun=np.array([1.0, 4.0]), **known)._repr_html_()


def test_lazy_batches_in_notebooks_stay_lazy():
    array = pytest.importorskip("dask.array")

    def compute(block):
        raise AssertionError("nobody asked for it")

    fun = array.ones(2, chunks=1).map_blocks(compute, dtype=float, meta=np.ones(0))
    html = BatchResult(array.ones((3, 2)), fun, Status.CONVERGED, 0.0, 3, "auto")._repr_html_()
    assert "not computed yet" in html
