"""Files of clauses: round trips, both formats, and every way a file can be wrong."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest

import dcra
from dcra.apps.maxsat import ClauseProblem, Clauses
from dcra.io.dimacs import parse


def test_cnf():
    clauses = parse(b"c hello\np cnf 3 2\n1 -2 0\n3 0\n", weighted=False)
    assert (clauses.n, clauses.lists(), clauses.weight.tolist()) == (3, [[1, -2], [3]], [1, 1])
    assert not clauses.hard.any()


def test_cnf_over_several_lines_with_comments_between():
    text = b"p cnf 4 2\n1\n2 0\nc in between\n-3\t4 0  \r\n%\n0\n"
    assert parse(text, weighted=False).lists() == [[1, 2], [-3, 4]]


@pytest.mark.parametrize(
    "text", [b"p wcnf 3 3 10\n10 1 2 0\n4 -1 0\n10 3 0\n", b"h 1 2 0\n4 -1 0\nc x\nh 3 0\n"]
)
def test_wcnf_before_and_since_2022(text):
    clauses = parse(text, weighted=True)
    assert clauses.lists() == [[1, 2], [-1], [3]]
    assert clauses.hard.tolist() == [True, False, True]
    assert clauses.weight.tolist() == [0, 4, 0]


def test_without_a_top_weight_all_clauses_are_soft():
    clauses = parse(b"p wcnf 2 2\n7 1 0\n9 2 0\n", weighted=True)
    assert clauses.weight.tolist() == [7, 9]
    assert not clauses.hard.any()


def test_a_top_weight_that_seems_to_be_missing_is_asked_for():
    text = b"p wcnf 3 4\n9 1 0\n9 2 3 0\n4 -1 0\n4 -2 0\n"
    with pytest.warns(UserWarning, match=r"2 of them weigh 9.*'p wcnf 3 4 9'"):
        clauses = parse(text, weighted=True)
    assert not clauses.hard.any()
    assert not parse(b"p wcnf 2 2\n3 1 0\n3 2 0\n", weighted=True).hard.any()  # plainly soft: no warning


def test_a_top_weight_beyond_64_bits():
    top = b"18446744073709551615"
    clauses = parse(b"p wcnf 2 2 " + top + b"\n" + top + b" 1 0\n5 2 0\n", weighted=True)
    assert clauses.hard.tolist() == [True, False]


def test_empty_and_always_true_clauses():
    clauses = parse(b"p cnf 2 3\n0\n1 -1 0\n2 2 0\n", weighted=False)
    assert clauses.lists() == [[], [2]]
    assert clauses.tautologies == 1
    assert ClauseProblem(clauses).objective([0, 1]) == 1


@pytest.mark.parametrize("name", ["a.cnf", "a.cnf.gz", "a.cnf.xz", "a.wcnf", "a.wcnf.gz", "a.wcnf.xz"])
def test_round_trip(name, tmp_path):
    weighted = "wcnf" in name
    clauses = Clauses.of([[1, -2], [3]], [2, 5] if weighted else None, hard=[[-1, 3]] if weighted else [])
    dcra.io.write(tmp_path / name, ClauseProblem(clauses))
    again = dcra.io.read(tmp_path / name)
    assert isinstance(again, ClauseProblem)
    assert again.clauses.lists() == clauses.lists()
    assert again.clauses.weight.tolist() == clauses.weight.tolist()
    first = (tmp_path / name).read_bytes()[:2]
    assert first == {"z": lzma.compress(b"")[:2] if name.endswith("xz") else gzip.compress(b"")[:2]}.get(
        name[-1], first
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", "there is no header; a .cnf file needs a line such as"),
        (b"1 2 0\n", "there is no header"),
        (b"c x\np cnf 2\n", r"line 2: the header must be 'p cnf VARIABLES CLAUSES'"),
        (b"p cnf two 3\n", "line 1: the header must be"),
        (b"p dnf 2 3\n", "line 1: the header must be"),
        (b"p cnf 0 0\n", "line 1: there must be at least one variable; the header says 0"),
        (b"p cnf 2 3\n1 0\n2 0\n", "the header promises 3 clauses, the file holds 2"),
        (b"p cnf 2 1\n1 0\n2 0\n", "the header promises 1 clauses, the file holds 2"),
        (b"p cnf 3 2\n1 0 2 0\n3 0\n", "line 2: literal 0 inside a clause"),
        (b"p cnf 2 2\n1 0\nc x\n3 0\n", "line 4: variable 3 is beyond the 2 of the header"),
        (b"p cnf 2 2\n1 0\n2\n", "line 3: the last clause does not end with 0"),
        (b"p cnf 2 1\n1 x 0\n", "line 2: expected an integer; got 'x'"),
        (b"p cnf 2 1\n1 1.5 0\n", "line 2: expected an integer; got '1.5'"),
    ],
)
def test_what_is_wrong_with_a_cnf(text, complaint, tmp_path):
    path = tmp_path / "bad.cnf"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=complaint):
        dcra.io.read(path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"p wcnf 2 1 0\n1 1 0\n", "line 1: the top weight must be positive; got 0"),
        (b"p wcnf 2 2 9\n1 1 0\n-3 2 0\n", "line 3: a weight must be a positive integer; got -3"),
        (b"p wcnf 2 2 9\n1 1 0\n0 2 0\n", "line 3: a weight must be a positive integer; got 0"),
        (b"p wcnf 2 1 9\nh 1 0\n", "line 2: h marks hard clauses only in files without a p line"),
        (b"h 1 2 0\n-1 2 0\n", "line 2: a weight must be a positive integer; got -1"),
        (b"h 1 2 0\n1.5 2 0\n", "line 2: expected an integer; got '1.5'"),
        (b"h 1 2\n3 2 0\n", "line 1: the clause does not end with 0"),
        (b"h 1 0 2 0\n", "line 1: literal 0 inside a clause"),
    ],
)
def test_what_is_wrong_with_a_wcnf(text, complaint, tmp_path):
    path = tmp_path / "bad.wcnf"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=complaint):
        dcra.io.read(path)


def test_what_cannot_be_written(tmp_path):
    weighted = ClauseProblem(Clauses.of([[1]], [2]))
    with pytest.raises(ValueError, match=r"\.cnf files hold no weights and no hard clauses"):
        dcra.io.write(tmp_path / "a.cnf", weighted)
    with pytest.raises(ValueError, match=r"weights in a \.wcnf file must be integers"):
        dcra.io.write(tmp_path / "a.wcnf", ClauseProblem(Clauses.of([[1]], [0.5])))
    with pytest.raises(ValueError, match="holds clauses only"):
        dcra.io.write(tmp_path / "a.cnf", dcra.Problem(linear=np.ones(2)))


def test_damaged_files(tmp_path):
    (tmp_path / "a.cnf.xz").write_bytes(lzma.compress(b"p cnf 1 1\n1 0\n")[:-8])
    (tmp_path / "a.cnf.gz").write_bytes(gzip.compress(b"p cnf 1 1\n1 0\n")[:-6])
    for name in ("a.cnf.xz", "a.cnf.gz"):
        with pytest.raises(ValueError, match="damaged or cut short"):
            dcra.io.read(tmp_path / name)
    (tmp_path / "a.cnf").write_bytes(b"p cnf 1 1\n1 0\n")
    with pytest.raises(ValueError, match="has no right-hand side"):
        dcra.io.read(tmp_path / "a.cnf", b=tmp_path / "a.cnf")


@pytest.mark.parametrize("name", ["a.wcnf", "a.cnf"])
@pytest.mark.parametrize(
    "change",
    [
        {"linear": np.ones(4)},
        {"quadratic": np.eye(4)},
        {"constant": 7.0},
        {"constraints": dcra.exactly(1)},
        {"constraints": dcra.soft(dcra.exactly(1), 2.0)},
        {"terms": dcra.Term("l1", np.ones((1, 4)), 1.0)},
    ],
)
def test_what_clauses_do_not_say_is_not_left_out(tmp_path, name, change):
    problem = ClauseProblem(Clauses.of([[1, -2], [2]], n=4))
    with pytest.raises(ValueError, match=r"holds clauses alone, .*; write an \.npz file instead"):
        dcra.io.write(tmp_path / name, problem.replace(**change))
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["a.cnf", "a.wcnf", "a.wcnf.gz"])
@pytest.mark.parametrize("clauses", [[[1, -2], [2]], []])
def test_variables_that_no_clause_mentions_are_kept(tmp_path, name, clauses):
    dcra.io.write(tmp_path / name, ClauseProblem(Clauses.of(clauses, n=4)))
    again = dcra.io.read(tmp_path / name)
    assert (again.n, again.clauses.lists()) == (4, clauses)


def test_a_comment_may_name_more_variables_but_not_fewer_and_not_beyond_bounds():
    assert parse(b"c 4 variables\r\n1 2 0\r\n", weighted=True).n == 4
    assert parse(b"c 1 variables\n1 2 0\n", weighted=True).n == 2
    assert parse(b"c 4 variables\np wcnf 3 1 9\n1 2 0\n", weighted=True).n == 3
    assert parse(b"c of 4 variables\n1 2 0\n", weighted=True).n == 2
    with pytest.raises(ValueError, match="line 1: the number of variables is 900000000 in a file of"):
        parse(b"c 900000000 variables\n1 2 0\n", weighted=True)


def test_the_format_counts_and_not_the_name(tmp_path):
    path = tmp_path / "clauses.txt"
    path.write_text("h 1 2 0\n3 -1 0\n")
    problem = dcra.io.read(path, "wcnf")
    assert problem.clauses.hard.tolist() == [True, False]
    again = tmp_path / "again.txt"
    dcra.io.write(again, problem, "wcnf")
    assert dcra.io.read(again, "wcnf").clauses.weight.tolist() == [0, 3]
    with pytest.raises(ValueError, match="no header"):
        dcra.io.read(path, "cnf")
