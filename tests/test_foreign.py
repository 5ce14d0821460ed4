"""Libraries that others load: SciPy while a thread is importing it, and a BLAS of its own that it brings."""

from __future__ import annotations

import ast
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import dcra
from dcra import foreign
from dcra.foreign import BlasThreads, importing, is_sparse, one_blas_thread
from dcra.model.operators import DenseMatrix, as_operator

ROOT = Path(dcra.__file__).parent


class Library:
    """A BLAS; like threadpoolctl's, it obeys one thread alone until that is cleared."""

    master: threading.Thread | None = None

    def __init__(self, filepath, num_threads):
        self.filepath, self.num_threads = filepath, num_threads

    def clear_controlling_thread(self, force):
        Library.master = None

    def set_num_threads(self, count):
        Library.master = Library.master or threading.current_thread()
        if Library.master is threading.current_thread():
            self.num_threads = count


@pytest.fixture
def blas(monkeypatch):
    """BLAS threads of two libraries, the second of which is loaded by `load`."""
    first, second = Library("numpy", 8), Library("scipy", 4)
    blas = BlasThreads()
    loaded = [first]
    blas._libraries = lambda: list(loaded)
    blas.first, blas.second = first, second
    blas.load = lambda: loaded.append(second)
    blas.seen = -1  # as if modules were imported all the time
    return blas


def test_overlapping_solves_leave_blas_as_it_was(blas):
    blas.enter()
    blas.enter()
    assert blas.first.num_threads == 1
    blas.leave()
    assert blas.first.num_threads == 1
    blas.leave()
    assert blas.first.num_threads == 8


def test_a_library_that_is_loaded_later_is_limited_too(blas):
    blas.enter()
    blas.load()
    worker = threading.Thread(target=blas.look_again)  # whichever thread has imported it
    worker.start()
    worker.join()
    assert blas.second.num_threads == 1
    blas.look_again()
    blas.leave()
    assert (blas.first.num_threads, blas.second.num_threads) == (8, 4)
    blas.look_again()  # nothing is limited where nothing is solved
    assert blas.second.num_threads == 4


def test_another_thread_limits_while_the_first_has_ended(blas):
    def both():
        blas.enter()
        blas.enter()
        blas.leave()

    worker = threading.Thread(target=both)
    worker.start()
    worker.join()
    blas.leave()
    assert blas.first.num_threads == 8


def test_the_real_libraries_are_limited():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts():
        return [p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]

    before = counts()
    with one_blas_thread(), one_blas_thread():
        with importing():
            import scipy.linalg  # noqa: F401
        assert set(counts()) <= {1}
    assert counts()[: len(before)] == before or before == []


def test_a_matrix_is_a_matrix_while_another_thread_imports_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", types.ModuleType("scipy.sparse"))
    assert not is_sparse(np.ones((2, 2)))
    assert isinstance(as_operator(np.ones((3, 2))), DenseMatrix)


def test_one_thread_imports_at_a_time():
    held = []
    with importing():
        worker = threading.Thread(target=lambda: held.append(foreign._importing.held.acquire(blocking=False)))
        worker.start()
        worker.join()
    assert held == [False]


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.stem)
def test_scipy_is_imported_under_the_lock(path):
    """At a module's head, or inside `importing`: anything else may meet another thread half way."""
    if path.relative_to(ROOT).parts[0] in ("bench", "cli", "datasets"):
        return  # commands, which begin with one thread
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.With) and "importing()" in ast.unparse(block.items[0])
        for node in ast.walk(block)
    }
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if any(name.split(".")[0] == "scipy" for name in names):
                    assert id(node) in inside, f"line {node.lineno}"


def test_arrays_that_must_be_asked_for_their_copy(monkeypatch):
    """CuPy's refuse to become NumPy's by themselves; a stand-in for them where there is no device."""
    from dcra import _array

    class Far:
        def __init__(self, host):
            self.host = host

        def get(self):
            return self.host.copy()

        def __array__(self, *args, **kwargs):
            raise TypeError("Implicit conversion to a NumPy array is not allowed")

    monkeypatch.setattr(_array.compat, "is_cupy_array", lambda x: isinstance(x, Far))
    monkeypatch.setattr(_array.compat, "is_torch_array", lambda x: False)
    x = np.arange(3.0)
    np.testing.assert_array_equal(_array.to_numpy(Far(x)), x)
    assert _array.on_accelerator(Far(x))
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(Far(x))


def test_what_others_load_during_a_solve_is_looked_for_and_what_we_load_is_not(monkeypatch):
    blas, looks = BlasThreads(), []

    class Controller:
        lib_controllers = ()

        def __init__(self):
            looks.append(len(sys.modules))

        def select(self, user_api):
            return self

    monkeypatch.setattr("threadpoolctl.ThreadpoolController", Controller)
    blas.enter()
    monkeypatch.setitem(sys.modules, "dcra.of_our_own", object())
    blas.look_again()
    assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "a_module_with_blas", object())
    blas.look_again()
    assert len(looks) == 2
    blas.leave()
