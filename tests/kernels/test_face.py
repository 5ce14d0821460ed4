"""Nothing reaches the library unchecked: types, shapes, contiguity, writability, and places."""

import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dcra._kernels import library, seed, store
from dcra._kernels.anneal import anneal
from dcra._kernels.face import Loop
from dcra._kernels.flip import flip, pair
from dcra._kernels.gray import gray
from dcra._kernels.state import measure, refresh, value
from dcra._kernels.sweep import round_to_spins, sweep
from dcra._kernels.tabu import rises_at, tabu
from dcra.engines.rule import PLAIN, Rule

from .conftest import Case, to_sparse


def sweep_arguments(case):
    x, z = case.point(1, spins=False)
    n = case.n
    trail = np.stack([x, x])
    return [
        case.model,
        trail,
        z,
        np.arange(n),
        np.arange(n),
        np.zeros(n, np.int64),
        seed.state(1),
        np.zeros(1),
    ]


def swept(arguments, *numbers):
    return sweep(*arguments, *(numbers or (0, 3, 3, np.array(PLAIN))))


def frozen(array):
    array.flags.writeable = False
    return array


WRONG = {
    "a list": (lambda x: list(x), TypeError, "`trail` must be a NumPy array; got list"),
    "another dtype": (
        lambda x: x.astype(np.float32),
        TypeError,
        "`trail` must be of dtype float64; got float32",
    ),
    "swapped bytes": (lambda x: x.astype(">f8"), TypeError, "`trail` must be of dtype float64; got >f8"),
    "too short": (lambda x: x[:, :-1].copy(), ValueError, r"`trail` must have shape \(2, 6\); got \(2, 5\)"),
    "a matrix": (lambda x: x[0], ValueError, r"`trail` must have shape \(2, 6\); got \(6,\)"),
    "empty": (lambda x: x[:0], ValueError, r"`trail` must have shape \(2, 6\); got \(0, 6\)"),
    "every other": (lambda x: np.repeat(x, 2, axis=0)[::2], ValueError, "`trail` must be C-contiguous"),
    "read-only": (frozen, ValueError, "`trail` must be writable, for it is changed; got a read-only array"),
}


@pytest.mark.parametrize("warm", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_an_array_is_said(wrong, warm, monkeypatch):
    """The first call of a loop and later ones are checked by different code."""
    from dcra._kernels import sweep as module

    monkeypatch.setattr(module._sweep, "run", module._sweep._first)
    case = Case(["l1"])
    if warm:
        swept(sweep_arguments(case))
    change, error, message = WRONG[wrong]
    arguments = sweep_arguments(case)
    arguments[1] = change(arguments[1])
    before = np.array(arguments[1])
    with pytest.raises(error, match=message):
        swept(arguments)
    np.testing.assert_array_equal(arguments[1], before)


def test_each_argument_is_named():
    case = Case(["l1"])
    for place, name in enumerate(["trail", "z", "columns", "blocks", "rest", "rng", "rho"], start=1):
        arguments = sweep_arguments(case)
        arguments[place] = arguments[place].astype(np.int8)
        with pytest.raises(TypeError, match=f"`{name}` must be of dtype"):
            swept(arguments)
    with pytest.raises(TypeError, match="`model` must be of type Model; got tuple"):
        swept([tuple(case.model), *sweep_arguments(case)[1:]])
    with pytest.raises(TypeError, match="integer"):
        swept(sweep_arguments(case), 0.5, 3, 3, np.array(PLAIN))


def test_arrays_that_are_only_read_may_be_read_only():
    case = Case(["l1"])
    plain, arguments = sweep_arguments(case), sweep_arguments(case)
    swept(plain)
    arguments[3] = frozen(arguments[3])
    swept(arguments)
    np.testing.assert_array_equal(plain[1], arguments[1])


def test_numbers_of_numpy_are_numbers():
    case = Case(["l1"])
    plain, arguments = sweep_arguments(case), sweep_arguments(case)
    swept(plain)
    swept(arguments, np.int64(0), np.int32(3), np.uint8(3), np.array(PLAIN))
    np.testing.assert_array_equal(plain[1], arguments[1])


def test_subclasses_and_equal_dtypes_are_taken():
    case = Case(["l1"])
    plain, arguments = sweep_arguments(case), sweep_arguments(case)
    swept(plain)
    arguments[3] = arguments[3].astype(np.longlong).view(np.memmap)
    swept(arguments)
    np.testing.assert_array_equal(plain[1], arguments[1])


def test_a_memory_for_another_size_is_refused():
    case = Case(["l1"])
    x, z = case.point()
    score, ladder = np.zeros(3), np.ones(2)
    for size in (case.n, case.n + 1, case.n):
        call = (case.model, x, z, score, x.copy(), seed.state(1), ladder, store.memory(size), 1.0)
        if size == case.n:
            anneal(*call)
        else:
            with pytest.raises(ValueError, match="`memory` must have n = 6; got 7"):
                anneal(*call)


def test_models_are_checked_once_and_well():
    case = Case(["l1", "huber"], sparse=True)
    A, rows = case.model.A, case.model.rows
    x, z = case.point()
    wrong = {
        "`ptr` must rise from 0": A._replace(ptr=A.ptr[::-1].copy()),
        "`idx` must not be negative": A._replace(idx=A.idx - 100),
        "`A` must have 12 rows": A._replace(idx=A.idx + 100),
        "`val` must have shape": A._replace(val=A.val[:-1].copy()),
    }
    for message, store_ in wrong.items():
        with pytest.raises(ValueError, match=message):
            value(case.model._replace(A=store_), x, z)
    for message, rows_ in {
        "`start` must rise": rows._replace(start=rows.start + 1),
        "`term` must be below 2": rows._replace(term=rows.term + np.uint8(1)),
    }.items():
        with pytest.raises(ValueError, match=message):
            value(case.model._replace(rows=rows_), x, z)
    with pytest.raises(TypeError, match="`c` must be of dtype float64; got float32"):
        value(case.model._replace(c=case.model.c.astype(np.float32)), x, z)
    with pytest.raises(TypeError, match="`rows` must be of dtype float64; got float32"):
        value(case.model._replace(rows=Case(["l1", "huber"], dtype=np.float32).model.rows), x, z)


def test_a_mirror_must_fit():
    case = Case(["l1"], rows=4, n=6, sparse=True)
    x, z = case.point()
    rest = (x.copy(), np.zeros(6), np.zeros(6, np.int64), np.zeros(1, np.int64), seed.state(1), 1, 1)
    for mirror, error in ((case.model.A, ValueError), (Case(["l1"]).model.A, TypeError)):
        with pytest.raises(error, match="`mirror` must"):
            tabu(case.model, mirror, x, z, np.zeros(3), *rest)
    tabu(case.model, to_sparse(case.A.T, np.float64), x, z, np.zeros(3), *rest)


def test_models_survive_pickling_and_know_their_arrays_again():
    case = Case(["l1"])
    x, z = case.point()
    first = value(case.model, x, z)
    copy = pickle.loads(pickle.dumps(case.model))
    assert value(copy, x, z) == first
    assert isinstance(copy.A, store.Dense)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_is_no_obstacle(shape, sparse):
    """No rows, no columns, or neither."""
    r, n = shape
    A = np.zeros(shape)
    stored = to_sparse(A, np.float64) if sparse else store.Dense(np.ascontiguousarray(A.T))
    model = store.build(stored, [[1, 0, 0, -1, 1]], n_rows=r)
    x, z, b, score = np.ones(n), np.empty(r), np.ones(r), np.zeros(3)
    refresh(model, b, x, z)
    measure(model, x, z, score)
    assert score[2] == r
    order, rest = np.arange(n), np.zeros(n, np.int64)
    rule, trail = np.array(Rule()), np.stack([x, x])
    sweep(model, trail, z, order, order.copy(), rest, seed.state(1), np.ones(1), 0, 2, 2, rule)
    sweep(model, trail, z, order[:0], order[:0].copy(), rest, seed.state(1), np.ones(1), 0, 2, 2, rule)
    round_to_spins(model, x, z)
    for search in (flip, pair):
        search(model, x, z, score, order, np.zeros(2, np.int64), 5)
    anneal(model, x, z, score, x.copy(), seed.state(1), np.ones(0), store.memory(n), 1.0)
    anneal(model, x, z, score, x.copy(), seed.state(1), np.ones(2), store.memory(n), 1.0)
    rises = np.empty(n)
    rises_at(model, x, z, score, rises)
    mirror = to_sparse(A.T, np.float64) if sparse else model.A
    until, clock = np.zeros(n, np.int64), np.zeros(1, np.int64)
    tabu(model, mirror, x, z, score, x.copy(), rises, until, clock, seed.state(1), 3, 1)
    assert gray(model, b, 0, 1 << n, x, z)[0] == r


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["A", "z", "x", "b"])
@pytest.mark.parametrize("losses", [["l1"], ["huber", "insensitive", "logistic", "capped"]], ids="-".join)
def test_what_is_not_a_number_ends_and_stays_inside(losses, where, bad, variant):
    case = Case(losses, **variant)
    model, b = case.model, case.b.copy()
    if where == "A":
        parts = [a.copy() for a in model.A]
        parts[-1].flat[::3] = bad
        model = model._replace(A=type(model.A)(*parts), L=np.full_like(model.L, bad))
    x, z = case.point()
    {"x": x, "z": z, "b": b, "A": np.zeros(9)}[where][::2] = bad
    n, score, rng = case.n, np.zeros(3), seed.state(1)
    measure(model, x, z, score)
    order, rest = np.arange(n), np.zeros(n, np.int64)
    trail, rule = np.stack([x, x]), np.array(Rule(patience=4.0))
    sweep(model, trail, z.copy(), order, order.copy(), rest, rng, np.zeros(1), 0, 5, 5, rule)
    assert np.all((rest >= 0) & (rest <= 64))
    flip(model, x.copy(), z.copy(), score, order, np.zeros(2, np.int64), 50)
    pair(model, x.copy(), z.copy(), score, order, np.zeros(2, np.int64), 50)
    memory = store.memory(n)
    anneal(model, x.copy(), z.copy(), score, x.copy(), rng, np.array([5.0, bad, 0.0]), memory, 1.0)
    assert np.all(memory.due >= 0)
    rises, until, clock = np.empty(n), np.zeros(n, np.int64), np.zeros(1, np.int64)
    rises_at(model, x, z, score, rises)
    mirror = to_sparse(case.A.T, case.dtype) if "sparse" in variant else model.A
    tabu(model, mirror, x.copy(), z.copy(), score, x.copy(), rises, until, clock, rng, 20, 2)
    assert clock[0] == 20
    _, code = gray(model, b, 0, 1 << n, x, z)
    assert 0 <= code < 1 << n


def test_positions_outside_the_gray_sequence_are_refused():
    case = Case(["l1"])
    x, z = case.point()
    for lo, hi in ((-1, 3), (0, (1 << case.n) + 1)):
        with pytest.raises(ValueError, match="`lo` and `hi` must be in"):
            gray(case.model, case.b, lo, hi, x, z)


def test_eight_threads_at_once_give_the_answers_of_one(variant):
    case = Case(["l1", "huber"], rows=40, n=40, **variant)

    def solve(index):
        x, z = case.point(index, spins=False)
        n, score = case.n, np.zeros(3)
        state = (np.arange(n), np.arange(n), np.zeros(n, np.int64), seed.state(1, index), np.zeros(1))
        trail = np.stack([x, x])
        sweep(case.model, trail, z, *state, 0, 30, 30, np.array(Rule()))
        x = trail[0]
        round_to_spins(case.model, x, z)
        measure(case.model, x, z, score)
        best, ladder = x.copy(), np.geomspace(5, 0.1, 50)
        anneal(case.model, x, z, score, best, seed.state(2, index), ladder, store.memory(n), 1.0)
        return (*best, *score)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(solve, range(32)))
    assert together == [solve(index) for index in range(32)]


def run(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_level_can_be_chosen():
    code = "from dcra._kernels import library; print(library.level())"
    if library.level() == "native":
        pytest.skip("one library serves every processor of this kind")
    for level in ("v2", "v3", "v4"):
        done = run(code, DCRA_SIMD=level)
        refused = f"DCRA_SIMD={level}: this (processor can only do|installation has only)"
        assert done.stdout.strip() == level or re.search(refused, done.stderr)
    assert "DCRA_SIMD must be v2, v3 or v4, or not set; got 'sse'" in run(code, DCRA_SIMD="sse").stderr


def test_without_a_library_the_reason_is_given():
    code = (
        "from dcra._kernels import library\n"
        "library._path = lambda name: None\n"
        "assert not library.available() and library.level() is None\n"
        "import dcra._kernels.sweep, numpy as np\n"
        "from dcra._kernels.rng import reseed\n"
        "reseed(np.zeros(4, np.uint64), 0, 0)"
    )
    assert "ImportError: dcra was installed without its compiled loops" in run(code).stderr


def test_a_loop_takes_as_many_arguments_as_its_table_has():
    loop = Loop("rng.reseed", "rng uint64 (4) rw\nseed uint64\nindex uint64")
    with pytest.raises(TypeError, match=r"rng\.reseed takes 3 arguments; got 2"):
        loop(np.zeros(4, np.uint64), 0)


def test_a_library_of_other_sources_is_not_called():
    code = (
        "import dcra\n"
        "from dcra._kernels import library\n"
        "library._stamp_of_sources = lambda: 'other'\n"
        "print(library.available(), library.why_not(), library.cure())\n"
        "print(dcra.minimize([[1.0, 2.0]], [3.0], seed=0, starts=1).fun)"
    )
    done = run(code)
    words = "False dcra's compiled loops were not made of the sources that lie beside them"
    assert done.stdout.startswith(words)
    assert done.stdout.endswith("0.0\n")
    assert "run `pip install --editable .` in the checkout again" in done.stderr


def test_the_library_knows_its_sources():
    made_of = library._stamp(library.library())
    assert re.fullmatch("[0-9a-f]{64}", made_of)
    assert library._stamp_of_sources() in ("", made_of)


def test_an_empty_array_is_no_list_of_places_that_end_somewhere():
    loop = Loop("choice.none", "ptr  int64 (m+1)")
    with pytest.raises(ValueError, match=r"`ptr` must have shape \(m\+1\); got \(0,\)"):
        loop(np.zeros(0, np.int64))
