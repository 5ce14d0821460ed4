"""Files of quadratic problems: round trips, recognition, and complaints that name the line."""

import gzip
import json
import os
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra import io
from dcra.apps.quadratic import cut_problem
from dcra.cli import run
from dcra.io import qaplib
from dcra.model.problem import Problem
from dcra.model.term import Term

RUDY = "3 3\n1 2 1\n2 3 2\n1 3 -1\n"
BIQMAC = "3 4\n1 1 -5\n1 2 3\n2 3 -4\n3 3 2\n"
QUBO = "c a comment\np qubo 0 3 2 2\n0 0 -5\n2 2 2\n0 1 6\n1 2 -8\n"
COO = "# vartype=BINARY\n0 0 -5\n0 1 6\n1 2 -8\n2 2 2\n"
QAP = "3\n\n0 1 2\n1 0 3\n2 3 0\n\n0 4 5\n4 0 6\n5 6 0\n"
MARKET = "# a comment\n2 4\n1 2 3 4 5\n5 4 3 2 9\n"


def saved(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def values(problem):
    low = -1.0 if problem.domain == "spin" else 0.0
    bits = np.arange(2**problem.n)[:, None] >> np.arange(problem.n) & 1
    return problem.objective(np.where(bits, 1.0, low))


@pytest.mark.parametrize("name", ["a.rud", "a.txt", "a", "a.rud.gz", "g05_3.0"])
def test_a_graph_is_a_cut(tmp_path, name):
    problem = io.read(saved(tmp_path, name, RUDY))
    assert problem.domain == "spin"
    assert problem.objective([1, -1, 1]) == -3.0
    assert problem.objective([1, 1, 1]) == 0.0


def test_three_dialects_of_one_qubo(tmp_path):
    files = {"a.sparse": BIQMAC, "a.qubo": QUBO, "a.coo": COO}
    problems = [io.read(saved(tmp_path, name, text)) for name, text in files.items()]
    for problem in problems:
        assert problem.domain == "binary"
        np.testing.assert_array_equal(values(problem), values(problems[0]))
    assert problems[0].objective([1, 1, 0]) == 1.0


def test_a_diagonal_makes_it_a_qubo(tmp_path):
    assert io.recognised(saved(tmp_path, "a.txt", BIQMAC)) == "sparse"
    assert io.recognised(saved(tmp_path, "b.txt", RUDY)) == "rudy"
    assert io.recognised(saved(tmp_path, "c.txt", QUBO)) == "qubo"
    assert io.recognised(saved(tmp_path, "d.dat", QAP)) == "qaplib"
    assert io.recognised(saved(tmp_path, "e.dat", MARKET)) == "marketsplit"
    assert io.recognised(saved(tmp_path, "f.sparse", RUDY)) == "sparse"


def test_spins_in_coo(tmp_path):
    problem = io.read(saved(tmp_path, "a.coo", "# vartype=SPIN\n0 0 2\n0 1 -3\n"))
    assert problem.domain == "spin"
    assert problem.objective([-1, 1]) == 1.0


def quadratic(domain, seed=0):
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((5, 5)) * (rng.random((5, 5)) < 0.6)
    return Problem(quadratic=Q, linear=rng.standard_normal(5), domain=domain)


@pytest.mark.parametrize("name", ["a.sparse", "a.qubo", "a.coo", "a.npz", "a.qubo.gz", "a.coo.gz"])
def test_round_trip_of_a_qubo(tmp_path, name):
    problem = quadratic("binary")
    io.write(tmp_path / name, problem)
    np.testing.assert_allclose(values(io.read(tmp_path / name)), values(problem), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["a.rud", "a.rudy.gz", "a.npz"])
def test_round_trip_of_a_graph(tmp_path, name):
    problem = cut_problem(5, np.array([0, 1, 3]), np.array([1, 2, 0]), np.array([1.0, 2.5, -3.0]))
    io.write(tmp_path / name, problem)
    np.testing.assert_array_equal(values(io.read(tmp_path / name)), values(problem))


def test_the_last_variable_of_a_coo_file_may_be_isolated(tmp_path):
    io.write(tmp_path / "a.coo", Problem(quadratic=np.diag([1.0, 0.0, 0.0]), domain="binary"))
    assert io.read(tmp_path / "a.coo").n == 3


def test_an_isolated_node_is_a_variable(tmp_path):
    problem = io.read(saved(tmp_path, "a.rud", "4 1\n1 2 5\n"))
    assert problem.n == 4
    assert dcra.solve(problem, seed=0).fun == -5.0


def test_round_trip_of_a_market_split(tmp_path):
    problem = io.read(saved(tmp_path, "a.dat", MARKET))
    assert problem.objective([1, 0, 0, 1]) == 2.0
    io.write(tmp_path / "b.dat", problem, "marketsplit")
    np.testing.assert_array_equal(values(io.read(tmp_path / "b.dat")), values(problem))


def test_matrix_files_keep_the_quadratic_term(tmp_path):
    rng = np.random.default_rng(0)
    A, Q = rng.standard_normal((3, 5)), sparse.csc_array(np.diag(rng.standard_normal(5)))
    problem = Problem([Term("l1", A, np.ones(3))], quadratic=Q, domain="binary")
    for name in ("a.npz", "a.mtx", "b.mtx.gz"):
        io.write(tmp_path / name, problem)
        np.testing.assert_allclose(values(io.read(tmp_path / name)), values(problem), rtol=1e-12)
    plain = Problem([Term("l1", A, np.ones(3))], domain="binary")
    with pytest.raises(ValueError, match=r"a_Q.mtx is beside it and would be read as its quadratic term"):
        io.write(tmp_path / "a.mtx", plain)


def test_round_trip_of_an_assignment(tmp_path):
    F, D = qaplib.read_matrices(saved(tmp_path, "a.dat", QAP))
    qaplib.write_matrices(tmp_path / "b.dat", F, D)
    for one, two in zip(qaplib.read_matrices(tmp_path / "b.dat"), (F, D), strict=True):
        np.testing.assert_array_equal(one, two)
    qaplib.write_solution(tmp_path / "b.sln", 64, [2, 0, 1])
    value, order = qaplib.read_solution(tmp_path / "b.sln")
    assert value == 64
    assert order.tolist() == [2, 0, 1]
    problem = io.read(tmp_path / "b.dat")
    X = np.zeros((3, 3))
    X[[0, 1, 2], order] = 1
    assert problem.objective(X.ravel()) == np.sum(F * D[np.ix_(order, order)])
    with pytest.raises(ValueError, match="write_matrices"):
        io.write(tmp_path / "c.dat", problem, "qaplib")


BAD = [
    ("a.rud", "", "the file is empty"),
    ("a.rud", "x 3\n", "line 1: the number of nodes must be a whole number; got 'x'"),
    ("a.rud", "3\n", "line 1: the number of edges is missing"),
    ("a.rud", "-3 1\n1 2 1\n", "line 1: the number of nodes must not be negative"),
    ("a.rud", "3000000000 1\n1 2 1\n", "line 1: .*nodes is 3000000000 in a file of 19 bytes with 1 entries"),
    ("a.rud", "0 0\n", "line 1: a graph needs at least one node"),
    (
        "a.edges",
        "0 1\n1 2\n2 0\n",
        "line 1 must be `n m`, .*; got '0 1'. This looks like an edge list without",
    ),
    ("a.edges", "1 2\n2 3\n", "line 1 must be `n m`, .* nodes count from 1; got '1 2'"),
    ("a.rud", "3 2\n1 2 1\n", "line 1 promises 2 edges; the file has 1"),
    ("a.rud", "3 1\n1 4 1\n", r"line 2: index 4 is outside 1..3"),
    ("a.rud", "3 1\n0 2 1\n", r"line 2: index 0 is outside 1..3 \(indices are 1-based\)"),
    ("a.rud", "3 2\n1 2 1\n2 1 1\n", "line 3: the pair of line 2 again"),
    ("a.rud", "3 1\n2 2 1\n", "line 2: an edge from a node to itself"),
    ("a.rud", "3 1\n1 2 nan\n", "line 2: the value must be finite"),
    ("a.rud", "3 1\n1 2 1e999\n", "line 2: the value must be finite"),
    ("a.rud", "3 1\n1 2 3 4\n", "line 2: `i j value` expected"),
    ("a.rud", "3 1\n1.5 2 3\n", "line 2: two whole numbers and a value expected"),
    ("a.sparse", "3 2\n1 1 1\n", "line 1 promises 2 entries; the file has 1"),
    ("a.sparse", "0 0\n", "a problem needs at least one variable"),
    ("a.qubo", "3 2\n1 1 1\n", "line 1: `p qubo 0 nodes diagonals couplers` expected"),
    ("a.qubo", "p qubo 0 3\n", "line 1: four numbers expected"),
    ("a.qubo", "p qubo 0 3 1 0\n3 3 1\n", r"line 2: index 3 is outside 0..2 \(indices are 0-based\)"),
    ("a.qubo", "p qubo 0 3 2 0\n1 1 1\n", "promises 2 diagonal entries; the file has 1"),
    ("a.qubo", "p qubo 0 3 0 2\n0 1 1\n", "promises 2 couplers; the file has 1"),
    ("a.coo", "0 -1 1\n", "line 1: an index must not be negative"),
    ("a.txt", "hello world\n", "unknown extension .txt"),
    ("a.txt", "", "the file is empty"),
]


@pytest.mark.parametrize("path", [3, b"a.coo", None])
def test_paths_are_words(path):
    with pytest.raises(TypeError, match=f"`path` must be a str or a path; got {path}"):
        io.read(path)


@pytest.mark.parametrize(("name", "text", "match"), BAD)
def test_bad_files(tmp_path, name, text, match):
    with pytest.raises(ValueError, match=match):
        io.read(saved(tmp_path, name, text))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("3\n1 2 3\n", "promises two matrices of size 3, 18 numbers; the file has 3"),
        ("0\n", "the size must be at least 1"),
        ("99999\n1\n", "two matrices of size 99999 would take 160 GB"),
        ("1\nx 1\n", "line 2: a number expected; got 'x'"),
        ("1\ninf 1\n", "line 2: numbers must be finite"),
        ("", "the file is empty"),
    ],
)
def test_bad_assignments(tmp_path, text, match):
    with pytest.raises(ValueError, match=match):
        io.read(saved(tmp_path, "a.dat", text), "qaplib")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("2 3\n1 2 3 4\n", "line 1 promises 2 rows; the file has 1"),
        ("1 3\n1 2 3\n", "line 2: 3 coefficients and a right-hand side expected; got 3 numbers"),
        ("1 2\n1 x 3\n", "line 2: numbers expected"),
        ("1 2\n1 inf 3\n", "line 2: the numbers must be finite"),
        ("0 2\n", "at least one row and one variable"),
        ("", "the file is empty"),
    ],
)
def test_bad_market_splits(tmp_path, text, match):
    with pytest.raises(ValueError, match=match):
        io.read(saved(tmp_path, "a.dat", text), "marketsplit")


def test_matrices_by_a_plain_name(tmp_path):
    path = saved(tmp_path, "nug3.dat", QAP)
    for one, two in zip(qaplib.read_matrices(str(path)), qaplib.read_matrices(path), strict=True):
        np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match=r"nug4\.dat: no such file; did you mean nug3\.dat\?"):
        qaplib.read_matrices(str(tmp_path / "nug4.dat"))
    with pytest.raises(ValueError, match="is a directory"):
        qaplib.read_matrices(str(tmp_path))
    with pytest.raises(ValueError, match=r"bad\.dat: line 1 promises two matrices of size 3"):
        qaplib.read_matrices(str(saved(tmp_path, "bad.dat", "3\n1 2 3\n")))


def test_a_broken_solution(tmp_path):
    with pytest.raises(ValueError, match=r"a permutation of 1..3 is expected"):
        qaplib.read_solution(saved(tmp_path, "a.sln", "3 10\n1 1 2\n"))
    with pytest.raises(ValueError, match="the file is empty"):
        qaplib.read_solution(saved(tmp_path, "b.sln", ""))


def test_what_a_format_cannot_hold(tmp_path):
    spin, binary = quadratic("spin"), quadratic("binary")
    term = Problem([Term("l1", np.ones((1, 2)), 0.0)], domain="binary")
    shifted = Problem(quadratic=np.eye(2), constant=1.0, domain="binary")
    for name, problem, match in [
        ("a.rud", spin, "holds a Max-Cut problem alone"),
        ("a.rud", binary, "holds a Max-Cut problem alone"),
        ("a.qubo", spin, "is about {0,1}"),
        ("a.qubo", term, "holds x'Qx"),
        ("a.qubo", shifted, "has no constant; got 1"),
    ]:
        with pytest.raises(ValueError, match=match):
            io.write(tmp_path / name, problem)
    with pytest.raises(ValueError, match="market split file holds"):
        io.write(tmp_path / "a.dat", spin, "marketsplit")
    with pytest.raises(ValueError, match="is a directory"):
        io.read(tmp_path)


def test_the_command_says_what_it_read(tmp_path, capsys):
    path = saved(tmp_path, "G.txt", RUDY)
    assert run(["solve", str(path), "--seed", "0", "--starts", "2", "--output", str(tmp_path / "x.txt")]) == 0
    out = capsys.readouterr().out
    assert "read as a Max-Cut graph" in out
    assert "cut  3" in out
    assert np.loadtxt(tmp_path / "x.txt").size == 3
    assert run(["solve", str(path), "--format", "sparse", "--starts", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fun"] == -2.0


def test_the_command_solves_an_assignment(tmp_path, capsys):
    assert run(["solve", str(saved(tmp_path, "a.dat", QAP)), "--starts", "2", "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert "quadratic assignment problem" in out
    words = out.split("\n")[-2].split()
    assert sorted(words[1:]) == ["1", "2", "3"]


LP = "\\ a comment\nMaximize\n obj: 2 ham + eggs\nSubject To\n few: ham + eggs <= 1\nBinary\n ham eggs\nEnd\n"
MPS = """* a comment
NAME breakfast
ROWS
 N obj
 L few
COLUMNS
 M1 'MARKER' 'INTORG'
 ham obj -2 few 1
 eggs obj -1 few 1
 M2 'MARKER' 'INTEND'
RHS
 r few 1
BOUNDS
 BV b ham
 BV b eggs
ENDATA
"""


@pytest.mark.parametrize(
    ("text", "kind", "fun"), [(LP, "lp", -2), (MPS, "mps", -2), ("c x\np cnf 1 2\n1 0\n-1 0\n", "cnf", 1)]
)
def test_models_and_clauses_of_standard_input(text, kind, fun, tmp_path, monkeypatch):
    if find_spec("highspy") is None:  # which is not to be loaded here: other solvers do not bear it
        pytest.skip("no highspy")
    assert io.recognised(saved(tmp_path, "input", text)) == kind
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    problem = io.read("-")
    found = dcra.solve(problem, seed=0)
    assert found.fun == fun
    if kind != "cnf":
        assert found.values == {"ham": 1, "eggs": 0}
        assert problem.maximises == (kind == "lp")


DATA = [
    ("gset/G1.txt", "rudy", 800),
    ("biqmac/beasley/bqp50-2.sparse", "sparse", 50),
    ("biqmac/rudy/g05_60.0", "rudy", 60),
    ("biqmac/ising/t2g10_6666", "rudy", 100),
    ("qaplib/nug15.dat", "qaplib", 225),
    ("marketsplit/ms_03_050_005.dat", "marketsplit", 20),
]


@pytest.mark.parametrize(("name", "kind", "n"), DATA)
def test_real_files(name, kind, n):
    path = Path(os.environ.get("DCRA_DATA", "")) / name
    if not path.is_file():
        pytest.skip(f"no {name} under DCRA_DATA")
    assert io.recognised(path) == kind
    assert io.read(path).n == n


@pytest.mark.parametrize("name", ["a.qubo", "a.coo", "a.sparse", "a.rud"])
def test_constraints_are_not_left_out(tmp_path, name):
    domain = "spin" if name == "a.rud" else "binary"
    problem = Problem(linear=-np.ones(3), domain=domain, constraints=dcra.exactly(1))
    if name == "a.rud":
        problem = cut_problem(2, [0], [1], [1.0]).replace(constraints=dcra.exactly(1))
    with pytest.raises(ValueError, match=r"file holds no constraints; write an \.npz file instead"):
        io.write(tmp_path / name, problem)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_constant_of_any_scale_is_not_left_out_of_a_graph(tmp_path, scale):
    cut = cut_problem(3, [0, 1], [1, 2], scale * np.array([0.1, 0.7]))
    io.write(tmp_path / "a.rud", cut)
    np.testing.assert_allclose(values(io.read(tmp_path / "a.rud")), values(cut), rtol=1e-12)
    with pytest.raises(ValueError, match="holds a Max-Cut problem alone"):
        io.write(tmp_path / "b.rud", cut.replace(constant=cut.constant + 0.01 * scale))
