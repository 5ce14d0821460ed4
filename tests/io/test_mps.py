"""Model files with binary variables, and constraints in archives."""

from __future__ import annotations

import json
import sys
from itertools import product

import numpy as np
import pytest

import dcra
from dcra.cli import run


@pytest.fixture(autouse=True)
def highspy():
    """HiGHS and OR-Tools bring libraries of one name: where the other came first, this one cannot load."""
    pytest.importorskip("highspy", exc_type=ImportError)


LP = """\
maximize
 obj: 3 x + 2 y + 4 z + 1
subject to
 weight: 2 x + 3 y + 3 z <= 5
 either: x + y >= 1
binary
 x y z
end
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.lp"
    path.write_text(LP)
    return path


def needs_highspy():
    return pytest.importorskip("highspy", reason="highspy is not installed")


def test_a_model_is_read(model):
    needs_highspy()
    problem = dcra.io.read(model)
    assert problem.domain == "binary"
    points = np.array(list(product((0, 1), repeat=3)))
    allowed = points[problem.violation(points) == 0]
    assert {tuple(x) for x in allowed} == {(0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 0)}
    result = dcra.solve(problem, seed=0)
    assert result.x.tolist() == [1, 0, 1]
    assert result.fun == -8


def test_the_command_shows_feasibility(model, capsys):
    needs_highspy()
    assert run(["solve", str(model), "--seed", "0"]) == 0
    assert "constraints  2 rows, satisfied" in capsys.readouterr().out
    assert run(["solve", str(model), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["feasible"] is True
    assert answer["violation"] == 0


def test_names_and_senses_are_those_of_the_file(model, capsys):
    problem = dcra.io.read(model)
    assert problem.variable_names == ("x", "y", "z")
    assert problem.constraints.names == ["weight", "either"]
    assert problem.maximises
    assert problem.by_name([1, 0, 1]) == {"x": 1, "y": 0, "z": 1}
    assert run(["solve", str(model), "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert "     maximum  8, at most 8" in out
    assert "           x  1: x z" in out
    assert run(["solve", str(model), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["values"] == {"x": 1, "y": 0, "z": 1}
    assert (answer["maximum"], answer["upper_bound"]) == (8, 8)
    assert dcra.solve(problem, fixed={0: 1}, seed=0).fun == -8


def test_names_are_in_errors(model):
    model.write_text(LP.replace("weight: 2 x + 3 y + 3 z <= 5", "weight: 2 x + 3 y + 3 z >= 9"))
    with pytest.raises(ValueError, match=r"`weight` cannot be satisfied"):
        dcra.io.read(model)


QUADRATIC = """\
{sense}
 obj: 3 x + 2 y - z + [ 4 x * y - 2 y * z + 6 x ^ 2 ] / 2
subject to
 either: x + y + z >= 1
binary
 x y z
end
"""


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_quadratic_objectives(model, sense):
    model.write_text(QUADRATIC.format(sense=sense))
    problem = dcra.io.read(model)
    points = np.array(list(product((0, 1), repeat=3)))
    x, y, z = points.T
    stated = 3 * x + 2 * y - z + (4 * x * y - 2 * y * z + 6 * x**2) / 2
    sign = 1 if sense == "minimize" else -1
    assert problem.objective(points) == pytest.approx(sign * stated)
    assert problem.maximises == (sense == "maximize")


def test_the_command_fails_where_no_point_is_feasible(tmp_path, capsys):
    needs_highspy()
    path = tmp_path / "none.lp"
    path.write_text(
        "min\n obj: a\nst\n c: 10 a + 11 b + 12 c + 13 d + 14 e + 15 f = 31\nbinary\n a b c d e f\nend\n"
    )
    assert run(["solve", str(path), "--seed", "0"]) == 1
    assert "VIOLATED by 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("binary\n x y z", "binary\n x", "y, z are continuous"),
        ("binary\n x y z", "bounds\n z <= 3\nbinary\n x y\ngeneral\n z", r"z is not binary"),
        ("<= 5", "<= -1", "cannot be satisfied"),
        ("subject to", "subjekt too\n ???", "not a model that HiGHS can read"),
    ],
)
def test_what_is_not_binary_is_refused(model, old, new, message):
    needs_highspy()
    model.write_text(LP.replace(old, new))
    with pytest.raises(ValueError, match=message):
        dcra.io.read(model)


def test_fixed_variables_stay_fixed(model):
    needs_highspy()
    model.write_text(
        LP.replace("binary\n", "bounds\n x = 0\nbinary\n y z\ngeneral\n").replace("\n x y z", "\n x")
    )
    problem = dcra.io.read(model)
    assert dcra.solve(problem, seed=0).x.tolist() == [0, 1, 0]


def test_without_highspy_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"pip install 'dcra\[mps\]'"):
        dcra.io.read(model)


def test_model_files_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="read only"):
        dcra.io.write(tmp_path / "p.mps", dcra.Problem(linear=np.ones(2)))


def test_archives_keep_constraints(tmp_path):
    problem = dcra.Problem(
        [dcra.Term("l1", np.eye(4), 0.0)], constraints=[dcra.exactly(2), dcra.at_most(1, [0, 1])]
    )
    dcra.io.write(tmp_path / "p.npz", problem)
    back = dcra.io.read(tmp_path / "p.npz")
    points = np.array(list(product((-1, 1), repeat=4)))
    np.testing.assert_array_equal(back.violation(points), problem.violation(points))
    other = dcra.io.read(tmp_path / "p.npz", loss="squared")
    assert len(other.constraints) == 2
    with pytest.raises(ValueError, match="`domain` cannot be replaced"):
        dcra.io.read(tmp_path / "p.npz", domain="binary")
    with pytest.raises(ValueError, match="no constraints"):
        dcra.io.write(tmp_path / "p.mtx", problem)
