"""Files that lie, swell, block or break: each is refused in a sentence that names it, and soon."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmread, mmwrite

import dcra
from dcra.apps.maxsat import Clauses
from dcra.cli import run
from dcra.io import contents, damage, limits, market, qaplib

FULL_WIDTH = "\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}"
BANNER = "%%MatrixMarket matrix coordinate real general\n"
LP = "min\n obj: x + y\nst\n c: x + y >= 1\nbinary\n x y\nend\n"


def refused(path: Path, match: str, **options: object) -> str:
    """The complaint about a file: a ValueError that begins with its name, in one line."""
    with pytest.raises(ValueError, match=match) as caught:
        dcra.io.read(path, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def saved(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


LEAST = -(2**63)


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        (
            "a.cnf",
            f"p cnf 300 3\n1 {LEAST} 0\n2 3 0\n-1 -3 0\n",
            "variable 9223372036854775808 is beyond the 300",
        ),
        (
            "a.wcnf",
            f"p wcnf 300 1 9\n1 {LEAST} 0\n",
            "variable 9223372036854775808 is beyond the 300",
        ),
        ("a.wcnf", f"h 1 2 0\n3 {LEAST} 0\n", "variable 9223372036854775808 is beyond what"),
        ("a.wcnf", f"h 1 2 0\n{-(2**62)} 2 0\n", "line 2: a weight must be a positive integer"),
        ("a.cnf", "p cnf 2 1\n1-2 0\n", "line 2: expected an integer; got '1-2'"),
        ("a.cnf", "p cnf 2 1\n1_0 0\n", "line 2: expected an integer; got '1_0'"),
        ("a.cnf", f"p cnf {FULL_WIDTH} 1\n1 0\n", "line 1: the header must be"),
        ("a.cnf", f"p cnf 12 1\n{FULL_WIDTH} 0\n", "line 2: expected an integer"),
        ("a.cnf", "p cnf 2 2\n1 0\np cnf 2 2\n2 0\n", "line 3: expected an integer; got 'p'"),
    ],
)
def test_literals_are_bounded_before_any_loop_sees_them(tmp_path, name, text, match):
    refused(saved(tmp_path, name, text), match)


@pytest.mark.parametrize(
    ("literals", "n"), [([LEAST], 300), ([LEAST], None), ([2**63], None), ([5], 4), ([1], 0), ([0], 3)]
)
def test_clauses_out_of_range_are_refused(literals, n):
    with pytest.raises(ValueError, match=r"`n` must be|literal 0"):
        Clauses.of([literals], n=n)


def test_clauses_made_by_hand_are_checked_too():
    one, none = np.ones(1, np.int64), np.zeros(1, bool)
    for n, ptr, literals in ((3, [0, 1], [LEAST]), (3, [0, 2], [1]), (3, [0, 1], [4]), (3, [0, 1], [0])):
        with pytest.raises(ValueError, match=r"`literals` must be|`ptr` must rise"):
            Clauses(n, np.array(ptr), np.array(literals), one, none)


PTR = "`ptr` must rise from 0 to the number of literals, one step for each clause"


@pytest.mark.parametrize(
    "ptr",
    [
        [0, 2, 1, 4],
        [0, -1, 2, 4],
        [0, 2**62, 2, 4],
        [0, 1, 2, 3],
        [0, 1, 2, 5],
        [1, 1, 2, 4],
        [0, 2, 4],
        [0, 1, 2, 3, 4],
        [[0, 1, 2, 4]],
        [],
    ],
)
def test_ends_of_clauses_are_checked_before_any_loop_follows_them(ptr):
    weight, hard = np.ones(3, np.int64), np.zeros(3, bool)
    with pytest.raises(ValueError, match=PTR):
        Clauses.from_arrays(5, np.array(ptr, np.int64), np.array([1, -2, 3, 4]), weight, hard)


@pytest.mark.parametrize(("weights", "marks"), [(2, 3), (4, 3), (3, 2), (2, 2)])
def test_each_clause_has_one_weight_and_one_mark(weights, marks):
    ptr, literals = np.array([0, 1, 2, 4]), np.array([1, -2, 3, 4])
    with pytest.raises(ValueError, match=PTR):
        Clauses.from_arrays(5, ptr, literals, np.ones(weights, np.int64), np.zeros(marks, bool))


def test_ends_of_unsigned_integers_wrap_nowhere():
    falling = np.array([0, 2, 1, 4], np.uint32)
    with pytest.raises(ValueError, match=PTR):
        Clauses.from_arrays(5, falling, np.array([1, -2, 3, 4]), np.ones(3, np.int64), np.zeros(3, bool))


@pytest.mark.parametrize("word", ["1_000", FULL_WIDTH, "\N{ARABIC-INDIC DIGIT THREE}", "0x1", "1,5", "--1"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rud", "3 1\n1 2 {}\n"),
        ("a.rud", "{} 1\n1 2 1\n"),
        ("a.sparse", "3 1\n{} 2 1\n"),
        ("a.qubo", "p qubo 0 3 0 1\n0 {} 2\n"),
        ("a.coo", "0 1 {}\n"),
        ("a.dat", "1\n{} 2\n"),
        ("m.dat", "1 3\n1 2 {} 4\n"),
        ("a.mtx", BANNER + "2 2 1\n1 1 {}\n"),
        ("a.mtx", BANNER + "{} 2 1\n1 1 1\n"),
        ("a.cnf", "p cnf 2000 1\n{} 0\n"),
    ],
)
def test_numbers_are_plain(tmp_path, name, text, word):
    with pytest.raises(ValueError, match=f"^{tmp_path / name}: "):
        dcra.io.read(saved(tmp_path, name, text.format(word)), "marketsplit" if name == "m.dat" else None)
    with pytest.raises(ValueError, match="must be a number"):
        dcra.io.text.parse_loss("huber:threshold=1_0")


@pytest.mark.parametrize("word", ["inf", "nan", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("name", "text"), [("a.rud", "3 1\n1 2 {}\n"), ("a.mtx", BANNER + "2 2 1\n1 1 {}\n")]
)
def test_numbers_are_finite(tmp_path, name, text, word):
    refused(saved(tmp_path, name, text.format(word)), "line [23]: .*(finite|a number expected)")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rud", "100000000 1\n1 2 1\n"),
        ("a.sparse", "100000000 1\n1 2 1\n"),
        ("a.qubo", "p qubo 0 100000000 0 1\n0 1 1\n"),
        ("a.coo", "0 99999999 1\n"),
        ("a.mtx", BANNER + "100000000 2 1\n1 1 1\n"),
        ("a.mtx", BANNER + "2 100000000 1\n1 1 1\n"),
        ("a.cnf", "p cnf 100000000 1\n1 0\n"),
        ("a.wcnf", "h 100000000 0\n"),
    ],
)
def test_a_promise_that_the_file_does_not_bear_out(tmp_path, name, text):
    path = saved(tmp_path, name, text)
    begin = time.perf_counter()
    told = refused(path, "is 100000000 in a file of .* bytes with . entries.*`max_size` \\(--max-size\\)")
    assert time.perf_counter() - begin < 5
    assert f"of {len(text)} bytes" in told


def test_isolated_nodes_are_read_up_to_a_limit(tmp_path):
    path = saved(tmp_path, "a.rud", "200 1\n1 2 1\n")
    assert dcra.io.read(path).n == 200
    refused(path, "at most|up to 100 are read", max_size=100)
    assert dcra.io.read(path, max_size=200).n == 200


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.mtx", "\n 3", "Not a Matrix Market file"),
        (
            "a.mtx",
            "%%MatrixMarket matrix array real general\n1000000 1000000\n1.0\n",
            "promises 1000000000000",
        ),
        ("a.mtx", BANNER + "2 2 99999999999\n1 1 1\n", "Truncated file: line 2 promises 99999999999 entries"),
        ("a.mtx", BANNER + "2 2 1\n1 1 1\n2 2 2\n", "line 2 promises 1 entries; the file has more"),
        ("a.mtx", BANNER + "2 2 2\n1 1\n2 2 2 2\n", "line 3: 3 numbers expected"),
        ("a.mtx", BANNER + "2 2 1\n1.0 1 1\n", "line 3: a whole number expected"),
        ("a.mtx", BANNER + "% c\n\n2 2 1\n% x\n1 3 1\n", "line 6: index out of bounds: column 3 of 2"),
        ("a.mtx", BANNER.replace("real", "complex") + "1 1 1\n1 1 1 1\n", "line 1: the field must be"),
        ("a.mtx", BANNER.replace("general", "symmetric") + "1 2 1\n1 1 1\n", "line 2: .* must be square"),
        ("a.mtx", BANNER.replace("general", "skew-symmetric") + "2 2 1\n1 1 1\n", "line 3: .* no diagonal"),
        ("a.mtx", BANNER, "Truncated file: line 2"),
    ],
)
def test_damaged_matrices(tmp_path, name, text, match):
    refused(saved(tmp_path, name, text), match)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize(
    ("storage", "field"),
    [
        (np.asarray, "real"),
        (sparse.coo_array, "real"),
        (np.asarray, "integer"),
        (sparse.coo_array, "pattern"),
    ],
)
def test_matrices_are_read_as_scipy_reads_them(tmp_path, rng, symmetry, storage, field):
    A = np.rint(9 * rng.standard_normal((7, 7 if symmetry != "general" else 4)))
    A = A if symmetry == "general" else A + A.T if symmetry == "symmetric" or field == "pattern" else A - A.T
    symmetry = "symmetric" if symmetry != "general" and field == "pattern" else symmetry
    mmwrite(tmp_path / "a.mtx", storage(A), field=field, symmetry=symmetry, comment="hello\nthere")
    wanted, found = mmread(tmp_path / "a.mtx"), market.parse((tmp_path / "a.mtx").read_bytes())
    assert sparse.issparse(found) == sparse.issparse(wanted)
    full = [M.toarray() if sparse.issparse(M) else M for M in (wanted, found)]
    np.testing.assert_array_equal(*full)


def test_long_matrices_are_read_in_pieces(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("dcra.io.table.PIECE", 50)
    A = sparse.random_array((40, 30), density=0.3, rng=rng)
    mmwrite(tmp_path / "a.mtx", A)
    text = (tmp_path / "a.mtx").read_bytes()
    np.testing.assert_array_equal(market.parse(text).toarray(), mmread(tmp_path / "a.mtx").toarray())
    last = text.count(b"\n")
    with pytest.raises(ValueError, match=f"line {last}: a number expected; got 'x'"):
        market.parse(text[: text[:-1].rfind(b" ")] + b" x\n")


def test_long_graphs_are_read_in_pieces(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("dcra.io.coordinates.PIECE", 50)
    monkeypatch.setattr("dcra.io.table.PIECE", 50)
    edges = [(i, j) for i in range(1, 20) for j in range(i + 1, 20)]
    lines = [f"{i} {j} {i * j / 4}" if (i + j) % 3 else f"c note\n  {i} {j}" for i, j in edges]
    path = saved(tmp_path, "a.rud", "\r\n".join([f"19 {len(edges)}", *lines]))
    cut = np.array([1.0] * 9 + [-1.0] * 10)
    crossing = [(i, j) for i, j in edges if i < 10 <= j]
    assert -dcra.io.read(path).objective(cut) == sum(i * j / 4 if (i + j) % 3 else 1 for i, j in crossing)
    told = refused(saved(tmp_path, "b.rud", path.read_bytes() + b"\r\n1 2 x"), "two whole numbers")
    assert f"line {len(path.read_text().splitlines()) + 1}:" in told
    refused(saved(tmp_path, "c.rud", path.read_bytes().replace(b"19 171", b"19 900")), "the file has fewer")


@pytest.mark.parametrize("name", ["bomb.cnf.xz", "bomb.cnf.gz", "bomb.rud.gz", "bomb.mtx.gz", "bomb.mps.gz"])
def test_packed_files_swell_no_further_than_allowed(tmp_path, name, monkeypatch):
    monkeypatch.setattr(limits, "MODEST_BYTES", 10_000_000)
    zeros = bytes(30_000_000)
    path = saved(tmp_path, name, lzma.compress(zeros) if name.endswith("xz") else gzip.compress(zeros))
    refused(path, r"expands to more than 9\.5\d* MiB; give `max_bytes` \(--max-bytes\)")
    refused(path, r"expands to more than 1000 bytes", max_bytes=1000)


def test_archives_swell_no_further_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MODEST_BYTES", 1_000_000)
    np.savez_compressed(tmp_path / "bomb.npz", A=np.zeros((1000, 2000)), b=np.zeros(1000))
    refused(tmp_path / "bomb.npz", "expands to more than")
    assert dcra.io.read(tmp_path / "bomb.npz", max_bytes=2**26).n == 2000


def test_text_is_no_larger_than_allowed(tmp_path):
    path = saved(tmp_path, "a.rud", "3 1\n1 2 1\n" + "\n" * 1000)
    refused(path, "is larger than 1000 bytes", max_bytes=1000)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="`max_bytes` must be at least 1"):
            dcra.io.read(path, max_bytes=wrong)
    with pytest.raises(TypeError, match="`max_size` must be a whole number"):
        dcra.io.read(path, max_size=1.5)  # type: ignore[arg-type]


def member(head: str, body: bytes = b"") -> bytes:
    text = head.encode("latin-1").ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


HEADS = {
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }": "promises 80000000000",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }": "describes no plain array|promises",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }": "holds pickled Python objects",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }": "describes no plain array",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (1000000000000,), }": "is damaged",
    "{'descr': '<f8', 'fortran_order': False": "its head cannot be read",
    "(" * 100: "its head cannot be read",
    "": "its head cannot be read",
}


@pytest.mark.parametrize(("head", "match"), HEADS.items())
def test_damaged_arrays(tmp_path, head, match):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("A.npy", member(head))
    refused(tmp_path / "a.npz", match)


def test_archives_that_name_an_array_twice(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.eye(2))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("A.npy", buffer.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("A.npy", buffer.getvalue())
    refused(tmp_path / "a.npz", "two arrays of one name")


def test_sparse_parts_bear_out_their_shape(tmp_path):
    parts = {"A_data": np.ones(1), "A_indices": np.zeros(1, int), "A_indptr": np.array([0, 1])}
    np.savez(tmp_path / "a.npz", **parts, A_shape=np.array([10**12, 1]), b=np.float64(0))
    refused(tmp_path / "a.npz", "`A_shape`: a size is 1000000000000 in a file of")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_devices_and_pipes_are_refused(tmp_path):
    os.mkfifo(tmp_path / "a.cnf")
    refused(tmp_path / "a.cnf", "is a pipe, not a file; what comes from elsewhere .* as `-`")
    for path in ("/dev/zero", "/dev/null"):
        with pytest.raises(ValueError, match=f"{path}: is a device, not a file"):
            dcra.io.read(path, "cnf")
        with pytest.raises(ValueError, match="is a device"):
            dcra.io.read(path)
    with pytest.raises(ValueError, match="is a pipe"):
        qaplib.read_matrices(tmp_path / "a.cnf")
    with pytest.raises(ValueError, match="is a pipe"):
        contents.data_of(tmp_path / "a.cnf")


def test_names_that_no_file_can_have(tmp_path):
    for name in ("a\0b.cnf", "x" * 5000 + ".cnf"):
        with pytest.raises(ValueError, match="cnf"):
            dcra.io.read(tmp_path / name)


def test_standard_input_is_read_where_it_is_asked_for(monkeypatch, capsys):
    class Given:
        buffer = io.BytesIO(b"3 3\n1 2 1\n2 3 2\n1 3 1\n")

    monkeypatch.setattr(sys, "stdin", Given)
    assert run(["solve", "-", "--seed", "0"]) == 0
    out = capsys.readouterr().out
    assert "-: 3 spin variables" in out
    assert "cut  3" in out
    Given.buffer = io.BytesIO(b"p cnf 1 1\n2 0\n")
    with pytest.raises(ValueError, match=r"^standard input: line 2: variable 2"):
        dcra.io.read("-", "cnf")
    Given.buffer = io.BytesIO(b"p cnf 1 1\n2 0\n" * 100)
    with pytest.raises(ValueError, match=r"^standard input: is larger than 100 bytes"):
        dcra.io.read("-", "cnf", max_bytes=100)


def test_limits_on_the_command_line(tmp_path, capsys):
    path = saved(tmp_path, "a.rud", "200 1\n1 2 1\n")
    assert run(["solve", str(path), "--max-size", "100"]) == 2
    assert "--max-size" in capsys.readouterr().err
    assert run(["solve", str(path), "--max-bytes", "5"]) == 2
    assert "is larger than 5 bytes" in capsys.readouterr().err


def test_other_errors_of_readers_become_complaints(tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr("dcra.io.rudy.read", broken)
    refused(
        saved(tmp_path, "a.rud", "1 0\n"), r"damaged, or not of its kind \(AttributeError: no such thing\)"
    )
    assert AttributeError not in damage.FORESEEN


def test_broken_solutions_are_named(tmp_path):
    for text in ("3\n", "", "3 5\n1 2\n", "3 5\n1 2 x\n", "3 5\n1 2 2.5\n", "x y\n", "1e9 5\n1\n"):
        with pytest.raises(ValueError, match=r"a\.sln: "):
            qaplib.read_solution(saved(tmp_path, "a.sln", text))


class TestModels:
    """HiGHS works in a process of its own."""

    @pytest.fixture(autouse=True)
    def highspy(self):
        pytest.importorskip("highspy", exc_type=ImportError)

    def test_a_reader_that_hangs_is_ended(self, tmp_path, monkeypatch):
        monkeypatch.setattr("dcra.io.mps.SECONDS", 0.5)
        path = saved(tmp_path, "a.mps", "ROWS\n\n NN  COST")
        refused(path, r"HiGHS did not come to an end with it in 0\.5 s")

    def test_a_reader_that_breaks_off_is_told(self, tmp_path, monkeypatch):
        child = saved(tmp_path, "child.py", "import os\nos.abort()\n")
        monkeypatch.setattr("dcra.io.model_child.__file__", str(child))
        refused(saved(tmp_path, "a.lp", LP), r"HiGHS broke off \(SIGABRT\)")
        child.write_text("raise MemoryError('no room')\n")
        refused(tmp_path / "a.lp", r"HiGHS could not read it \(MemoryError: no room\)")

    def test_packed_models_and_models_of_other_names(self, tmp_path):
        for name, format in (("a.lp", None), ("a.mps.gz", None), ("model", "lp"), ("other", "mps")):
            text = LP.encode() if "mps" not in (name, format) and not name.endswith("gz") else MPS.encode()
            path = saved(tmp_path, name, gzip.compress(text) if name.endswith("gz") else text)
            assert dcra.solve(dcra.io.read(path, format), seed=0).fun == 1

    def test_half_integers_are_not_binary(self, tmp_path):
        text = LP.replace("binary\n x y", "bounds\n 0 <= x <= 1\nbinary\n y\nsemi-continuous\n x")
        refused(saved(tmp_path, "a.lp", text), "x is continuous")


MPS = """\
NAME          m
ROWS
 N  COST
 G  C
COLUMNS
    M1        'MARKER'                 'INTORG'
    X         COST         1.0   C            1.0
    Y         COST         1.0   C            1.0
    M2        'MARKER'                 'INTEND'
RHS
    RHS       C            1.0
BOUNDS
 BV BND       X
 BV BND       Y
ENDATA
"""


class TestWriting:
    """Files are written as a whole or not at all."""

    def test_a_full_disk_leaves_the_file_as_it_was(self, tmp_path, monkeypatch):
        problem = dcra.Problem(linear=np.ones(3), quadratic=np.eye(3), domain="binary")
        path = tmp_path / "a.npz"
        dcra.io.write(path, problem)
        before = path.read_bytes()

        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "savez", full)
        with pytest.raises(ValueError, match=r"a\.npz: No space left on device"):
            dcra.io.write(path, problem)
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(ValueError, match="No space left on device"):
            dcra.io.write(tmp_path / "a.qubo", problem)
        assert path.read_bytes() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]

    def test_rights_and_links_are_kept(self, tmp_path):
        problem = dcra.Problem(linear=np.ones(3), quadratic=np.eye(3), domain="binary")
        path, link = tmp_path / "a.qubo", tmp_path / "link.qubo"
        dcra.io.write(path, problem)
        path.chmod(0o640)
        link.symlink_to(path)
        dcra.io.write(link, problem)
        assert link.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o640

    def test_devices_can_be_written_to(self):
        contents.save(Path("/dev/null"), b"x")
        assert not Path("/dev/null").is_file()


def test_reading_needs_no_scipy_for_graphs():
    code = "import dcra.io.coordinates, sys; assert 'scipy.sparse' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rud", "3 2\n1 2 1\n2 3 1\n"),
        ("a.cnf", "p cnf 2 1\n1 -2 0\n"),
        ("a.wcnf", "h 1 2 0\n3 -1 0\n"),
        ("a.qubo", "p qubo 0 2 1 1\n0 0 1\n0 1 -2\n"),
    ],
)
def test_a_byte_order_mark_is_passed_over(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    (tmp_path / f"plain-{name}").write_text(text)
    marked, plain = (dcra.io.read(tmp_path / one) for one in (name, f"plain-{name}"))
    ones = np.ones(plain.n)
    assert marked.objective(ones) == plain.objective(ones)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rud", "3 2\n1 2 1\n2 3 1\n"),
        ("a.qubo", "p qubo 0 2 1 1\n0 0 1\n0 1 -2\n"),
        ("a.dat", "1 2\n1 2 3\n"),
    ],
)
def test_formats_that_hold_all_their_numbers_take_no_other_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "b.txt").write_text("1\n")
    with pytest.raises(ValueError, match=r"a file of this format holds all its numbers; `b` goes with"):
        dcra.io.read(tmp_path / name, "marketsplit" if name == "a.dat" else None, b=tmp_path / "b.txt")
