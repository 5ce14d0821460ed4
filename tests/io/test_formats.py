"""Files: what is written is read back, and what is wrong is said in one line that names the file."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import dcra
from dcra.io import formats
from dcra.io.text import loss_text, parse_loss
from dcra.losses import NAMES, Huber, Loss, Quantile

EXTENSIONS = ["npz", "mtx", "mtx.gz"]
BANNER = b"%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture
def A(rng: np.random.Generator) -> Any:
    return rng.standard_normal((5, 4))


@pytest.fixture
def b(rng: np.random.Generator) -> Any:
    return rng.standard_normal(5)


def same(first: dcra.Problem, second: dcra.Problem) -> bool:
    """Whether two problems have one domain and equal values everywhere."""
    points = np.array(np.meshgrid(*[[0.0, 1.0]] * first.n)).reshape(first.n, -1).T
    if first.domain == "spin":
        points = 2 * points - 1
    return first.domain == second.domain and np.array_equal(first.objective(points), second.objective(points))


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("domain", ["spin", "binary"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_round_trip(tmp_path, A, b, extension, domain, dtype, storage):
    A = np.where(np.abs(A) < 0.5, 0, A).astype(dtype)
    problem = dcra.Problem([dcra.Term(Huber(0.3), storage(A), b)], linear=np.arange(4.0), domain=domain)
    dcra.io.write(tmp_path / f"p.{extension}", problem)
    again = dcra.io.read(str(tmp_path / f"p.{extension}"))
    assert same(problem, again)
    assert again.terms[0].loss == Huber(0.3)
    assert sparse.issparse(again.terms[0].A) == sparse.issparse(problem.terms[0].A)


def test_npz_keeps_terms_weights_and_constant(tmp_path, A, b):
    terms = [
        dcra.Term("l1", A, b, np.arange(5.0)),
        dcra.Term(Quantile(0.9), sparse.csc_array(A[:2]), b[:2], 3.0),
        dcra.Term("linf", A, b),
    ]
    problem = dcra.Problem(terms, linear=np.ones(4), constant=-2.5)
    dcra.io.write(tmp_path / "p.npz", problem)
    assert same(problem, dcra.io.read(tmp_path / "p.npz"))


def test_npz_without_terms(tmp_path):
    problem = dcra.Problem(linear=np.array([1.0, -2.0]), domain="binary")
    dcra.io.write(tmp_path / "p.npz", problem)
    assert same(problem, dcra.io.read(tmp_path / "p.npz"))


def test_npz_by_hand(tmp_path, A, b):
    np.savez_compressed(tmp_path / "p.npz", A=A, b=b, c=np.ones(4), weights=2, loss="hinge", domain=b"binary")
    wanted = dcra.Problem([dcra.Term("hinge", A, b, 2.0)], linear=np.ones(4), domain="binary")
    assert same(wanted, dcra.io.read(tmp_path / "p.npz"))


def test_npz_by_hand_sparse_by_rows(tmp_path, A, b):
    rows = sparse.csr_array(A)
    parts = {"A_data": rows.data, "A_indices": rows.indices, "A_indptr": rows.indptr, "A_shape": A.shape}
    np.savez(tmp_path / "p.npz", **parts, A_format="csr", b=b)
    assert same(dcra.Problem([dcra.Term("l1", A, b)]), dcra.io.read(tmp_path / "p.npz"))


@pytest.mark.parametrize("name", ["p_b.mtx", "p.b.mtx", "p_b.mtx.gz", "elsewhere.mtx"])
def test_mtx_finds_its_right_hand_side(tmp_path, name):
    (tmp_path / "p.mtx").write_bytes(BANNER + b"2 3 2\n1 1 4\n2 3 -1\n")
    vector = b"%%MatrixMarket matrix array integer general\n2 1\n7\n8\n"
    (tmp_path / name).write_bytes(gzip.compress(vector) if name.endswith(".gz") else vector)
    problem = dcra.io.read(tmp_path / "p.mtx", b=tmp_path / name if name == "elsewhere.mtx" else None)
    assert problem.objective(np.ones(3)) == abs(4 - 7) + abs(-1 - 8)
    assert (problem.domain, loss_text(problem.terms[0].loss)) == ("spin", "l1")


def test_mtx_prefers_the_neighbour_packed_like_itself(tmp_path, A, b):
    dcra.io.write(tmp_path / "p.mtx", dcra.Problem([dcra.Term("l1", A, b + 1)]))
    problem = dcra.Problem([dcra.Term("l1", A, b)])
    dcra.io.write(tmp_path / "p.mtx.gz", problem)
    assert same(problem, dcra.io.read(tmp_path / "p.mtx.gz"))


def test_format_argument_and_capitals(tmp_path, A, b):
    problem = dcra.Problem([dcra.Term("l1", A, b)])
    dcra.io.write(tmp_path / "data", problem, format="npz")
    assert same(problem, dcra.io.read(tmp_path / "data", format="npz"))
    dcra.io.write(tmp_path / "P.NPZ", problem)
    assert same(problem, dcra.io.read(tmp_path / "P.NPZ"))


def test_loss_and_domain_may_be_replaced(tmp_path, A, b):
    dcra.io.write(tmp_path / "p.npz", dcra.Problem([dcra.Term("l1", A, b, 2.0)]))
    wanted = dcra.Problem([dcra.Term(Huber(2), A, b, 2.0)], domain="binary")
    assert same(wanted, dcra.io.read(tmp_path / "p.npz", loss="huber:threshold=2", domain="binary"))
    assert same(wanted, dcra.io.read(tmp_path / "p.npz", loss=Huber(2), domain="binary"))


@pytest.mark.parametrize(
    ("name", "text", "domain", "other"),
    [
        ("a.wcnf", "h 1 0\nh -1 0\n1 2 0\n", "binary", "spin"),
        ("a.cnf", "p cnf 2 1\n1 -2 0\n", "binary", "spin"),
        ("a.rud", "3 3\n1 2 1\n2 3 2\n1 3 1\n", "spin", "binary"),
        ("a.coo", "# vartype=BINARY\n0 0 1\n1 1 1\n", "binary", "spin"),
    ],
)
def test_files_that_say_what_their_numbers_mean_keep_it(tmp_path, name, text, domain, other):
    (tmp_path / name).write_text(text)
    problem = dcra.io.read(tmp_path / name)
    assert problem.domain == domain
    assert type(dcra.io.read(tmp_path / name, domain=domain)) is type(problem)  # what it is already
    with pytest.raises(ValueError, match=rf"{name}: `domain` cannot be replaced: .* is {domain}\); leave"):
        dcra.io.read(tmp_path / name, domain=other)
    with pytest.raises(ValueError, match=f"{name}: `loss` cannot be replaced: a file of format"):
        dcra.io.read(tmp_path / name, loss="l1")


def test_a_new_format_is_a_module_and_a_line(tmp_path, monkeypatch):
    (tmp_path / "signs.py").write_text(
        "import dcra, numpy as np\n"
        "def read(path, b):\n"
        "    return dcra.Problem(linear=np.loadtxt(path))\n"
        "def write(path, problem):\n"
        "    np.savetxt(path, problem.linear)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(formats.FORMATS, "signs", "signs")
    problem = dcra.Problem(linear=np.array([1.0, -2.0]))
    dcra.io.write(tmp_path / "p.signs", problem)
    assert same(problem, dcra.io.read(tmp_path / "p.signs"))


@pytest.mark.parametrize("loss", [*(kind() for kind in NAMES.values()), Huber(1 / 3), Quantile(0.1)])
def test_losses_as_words(loss):
    assert parse_loss(loss_text(loss)) == loss


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hubr", "`loss` must be one of .*did you mean 'huber'"),
        ("huber:limit=2", "loss 'huber' has options threshold; got 'limit=2'"),
        ("l1:threshold=2", "loss 'l1' has no options; got 'threshold=2'"),
        ("huber:threshold=two", "option 'threshold' of loss 'huber' must be a number; got 'two'"),
        ("huber:threshold=-2", "`threshold` must be positive"),
    ],
)
def test_words_that_are_no_loss(text, message):
    with pytest.raises(ValueError, match=message):
        parse_loss(text)


class Mine(Loss):
    separable = True

    def value(self, z):
        return z.sum(axis=-1)

    def prox(self, z, step):
        return z - step


def test_what_cannot_be_written(tmp_path, A, b):
    mine = dcra.Problem([dcra.Term(Mine(), A, b)])
    weighted = dcra.Problem([dcra.Term("l1", A, b, 2.0)])
    for extension in EXTENSIONS:
        with pytest.raises(ValueError, match="the loss Mine has no name"):
            dcra.io.write(tmp_path / f"p.{extension}", mine)
        with pytest.raises(ValueError, match=r"nowhere/p\..*: No such file or directory"):
            dcra.io.write(tmp_path / "nowhere" / f"p.{extension}", dcra.Problem([dcra.Term("l1", A, b)]))
    with pytest.raises(ValueError, match=r"p\.mtx: Matrix Market files hold one term without weights"):
        dcra.io.write(tmp_path / "p.mtx", weighted)
    with pytest.raises(TypeError, match=r"`problem` must be a dcra\.Problem; got int"):
        dcra.io.write(tmp_path / "p.npz", 3)


def test_operators_without_a_matrix_cannot_be_written(tmp_path, monkeypatch, A, b):
    from scipy.sparse.linalg import aslinearoperator

    monkeypatch.setattr("dcra.model.operators.MATERIALIZE_ENTRIES", 1)
    problem = dcra.Problem([dcra.Term("l1", aslinearoperator(A), b)])
    for extension in EXTENSIONS:
        with pytest.raises(ValueError, match="operator without a matrix"):
            dcra.io.write(tmp_path / f"p.{extension}", problem)


def test_a_stale_linear_term_is_not_left_behind(tmp_path, A, b):
    dcra.io.write(tmp_path / "p.mtx", dcra.Problem([dcra.Term("l1", A, b)], linear=np.ones(4)))
    with pytest.raises(ValueError, match=r"p_c\.mtx is beside it and would be read as its linear term"):
        dcra.io.write(tmp_path / "p.mtx", dcra.Problem([dcra.Term("l1", A, b)]))


def saved(**arrays: Any) -> Any:
    return lambda path: np.savez(path, **arrays)


def bytes_of(content: bytes) -> Any:
    return lambda path: path.write_bytes(content)


def cut_short(path: Path) -> None:
    np.savez(path, A=np.eye(100), b=np.ones(100))
    path.write_bytes(path.read_bytes()[:500])


def scratched(path: Path) -> None:
    np.savez(path, A=np.eye(100), b=np.ones(100))
    data = bytearray(path.read_bytes())
    data[300:340] = b"\xff" * 40
    path.write_bytes(bytes(data))


def zip_of_text(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")


def single_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.eye(3))


I, ONES = np.eye(3), np.ones(3)
SCIPY = "this is a matrix of scipy.sparse, not a problem; take it by `scipy.sparse.load_npz` and give it to"
CSC = {"A_data": ONES, "A_indices": np.arange(3), "A_indptr": np.arange(4), "A_shape": np.array([3, 3])}


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("p.npz", cut_short, "damaged or cut short"),
        ("p.npz", scratched, "damaged or cut short"),
        ("p.npz", bytes_of(b""), "the file is empty"),
        ("p.npz", bytes_of(b"some text"), "not an .npz archive"),
        ("p.npz", zip_of_text, "a zip file, but not of NumPy arrays: it holds 'notes.txt'"),
        ("p.npz", single_array, "not an .npz archive but a single array"),
        ("p.npz", saved(A=I), "`b` is missing; the file holds A"),
        ("p.npz", saved(b=ONES), "`A` is missing; the file holds b"),
        ("p.npz", saved(), "`A` is missing; the file holds nothing"),
        ("p.npz", saved(A=I, b=ONES, weight=ONES), "unknown arrays weight; known are A, b, loss, weights"),
        ("p.npz", lambda path: sparse.save_npz(path, sparse.eye_array(3)), SCIPY),
        ("p.npz", lambda path: sparse.save_npz(path, sparse.csr_array(I)), SCIPY),
        ("p.npz", saved(A=I, b=np.array([{}] * 3)), "`b` holds pickled Python objects"),
        ("p.npz", saved(A=I, b=np.ones(2)), r"`b` must have shape \(3,\) to match `A`"),
        ("p.npz", saved(A=I, b=ONES * np.nan), "`b` must be finite"),
        ("p.npz", saved(A=I * 1j, b=ONES), "`A` must be real"),
        ("p.npz", saved(A=I, b=ONES, loss="l7"), "`loss` must be one of"),
        ("p.npz", saved(A=I, b=ONES, loss=3), "`loss` must be one string; got dtype int64"),
        ("p.npz", saved(A=I, b=ONES, domain="spins"), "`domain` must be one of spin, binary; got 'spins'"),
        ("p.npz", saved(A=I, b=ONES, constant=ONES), "`constant` must be one number"),
        ("p.npz", saved(**CSC | {"A_indices": np.array([0, 1, 9])}, b=ONES), "indices must be < 3"),
        ("p.npz", saved(**CSC | {"A_indptr": np.arange(3)}, b=ONES), "index pointer size"),
        ("p.npz", saved(**CSC | {"A_shape": 3}, b=ONES), "`A_shape` must hold two integers; got 3"),
        ("p.npz", saved(**CSC, A_format="coo", b=ONES), "`A_format` must be csc or csr; got 'coo'"),
        ("p.npz", saved(A_data=ONES, b=ONES), "`A_indices` is missing"),
        ("p.mtx", bytes_of(b"some text"), "Not a Matrix Market file"),
        ("p.mtx", bytes_of(b""), "Not a Matrix Market file"),
        ("p.mtx", bytes_of(BANNER + b"2 2 2\n1 1 3\n"), "Truncated file"),
        ("p.mtx", bytes_of(BANNER + b"2 2 1\n1 9 3\n"), "index out of bounds"),
        ("p.mtx", bytes_of(BANNER + b"2 2 1\n1 1 3\n"), r"neither p_b\.mtx nor p\.b\.mtx"),
        (
            "p.mtx",
            bytes_of(BANNER + b"2 2 1\n1 1 3\n"),
            r"; a Q alone, as x'Qx, is read from a \.coo, \.qubo or",
        ),
        ("p.mtx", bytes_of(BANNER + b"2 3 1\n1 1 3\n"), r"\(or \.mtx\.gz\) is beside it$"),
        ("p.npy", single_array, "a single array, not a problem; take it by `numpy.load`"),
        ("p.mat", bytes_of(b"MATLAB 5.0 MAT-file"), "a file of MATLAB, not a problem; .*`scipy.io.loadmat`"),
        ("p.mtx.gz", bytes_of(gzip.compress(BANNER * 99)[:30]), "damaged or cut short"),
    ],
)
def test_files_that_hold_no_problem(tmp_path, name, make, message):
    make(tmp_path / name)
    with pytest.raises(ValueError, match=message) as caught:
        dcra.io.read(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n", "one vector of 2 numbers, .* A's rows"),
        (b"%%MatrixMarket matrix array real general\n2 1\n1\n", r"in p_b\.mtx: Truncated"),
    ],
)
def test_right_hand_sides_that_do_not_fit(tmp_path, content, message):
    (tmp_path / "p.mtx").write_bytes(BANNER + b"2 3 1\n1 1 3\n")
    (tmp_path / "p_b.mtx").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        dcra.io.read(tmp_path / "p.mtx")


def test_paths_that_are_no_file(tmp_path, A, b):
    dcra.io.write(tmp_path / "p.npz", dcra.Problem([dcra.Term("l1", A, b)]))
    (tmp_path / "p.nzp").write_text("?")
    (tmp_path / "plain").write_text("?")
    for name, message in [
        ("q.npz", r"q\.npz: no such file; did you mean p\.npz"),
        ("nowhere/q.npz", r"q\.npz: no such file$"),
        (".", "is a directory, not a file"),
        ("p.nzp", r"unknown extension \.nzp; known are \.npz, \.mtx, .*; did you mean \.npz"),
        ("plain", "the name has no extension; known are"),
    ]:
        with pytest.raises(ValueError, match=message):
            dcra.io.read(tmp_path / name)
    with pytest.raises(ValueError, match=r"`format` must be one of npz, mtx, .*; got 'pnz'; did you"):
        dcra.io.read(tmp_path / "p.npz", format="pnz")
    with pytest.raises(ValueError, match=r"an \.npz file holds its own `b`"):
        dcra.io.read(tmp_path / "p.npz", b=tmp_path / "p.npz")
    with pytest.raises(ValueError, match=r"b\.mtx: no such file"):
        dcra.io.read(tmp_path / "p.npz", b=tmp_path / "b.mtx")


def test_one_loss_cannot_replace_two(tmp_path, A, b):
    dcra.io.write(tmp_path / "p.npz", dcra.Problem([dcra.Term("l1", A, b), dcra.Term("l2", A, b)]))
    with pytest.raises(ValueError, match="`loss` can replace that of one term; the file has 2"):
        dcra.io.read(tmp_path / "p.npz", loss="l1")


def test_readers_are_imported_on_use():
    code = "import dcra.io, sys; assert not {'scipy.io', 'scipy.sparse', 'dcra.io.mtx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("number", [np.float64(2.0), np.float32(2.0), np.int64(2), np.asarray(2.0)])
@pytest.mark.parametrize("extension", ["npz", "mtx"])
def test_options_of_losses_may_be_numbers_of_numpy(tmp_path, A, b, number, extension):
    dcra.io.write(tmp_path / f"p.{extension}", dcra.Problem([dcra.Term(Huber(number), A, b)]))
    assert dcra.io.read(tmp_path / f"p.{extension}").terms[0].loss == Huber(2.0)
