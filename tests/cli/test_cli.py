"""The command line: answers on stdout, one line on stderr for what is wrong, exit codes 0, 2, 130."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcra
from dcra import api
from dcra._kernels import library
from dcra.apps.maxsat import ClauseProblem, Clauses
from dcra.apps.maxsat.solve import judged
from dcra.cli import run
from dcra.cli.errors import bad_input
from dcra.cli.maxsat import pool_lines
from dcra.cli.outputs import WRITERS
from dcra.model.pool import Solutions


@pytest.fixture
def file(tmp_path: Path, rng: np.random.Generator) -> str:
    """A problem of 12 variables, solved by enumeration without compiled loops."""
    path = tmp_path / "small.npz"
    A, b = rng.standard_normal((8, 12)), rng.standard_normal(8)
    dcra.io.write(path, dcra.Problem([dcra.Term("l1", A, b)]))
    return str(path)


def outcome(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_people_get_aligned_lines(capsys, file):
    code, out, err = outcome(capsys, "solve", file, "--seed", "3")
    lines = dict(line.strip().split("  ", 1) for line in out.splitlines())
    result = dcra.solve(dcra.io.read(file), seed=3)
    assert (code, err) == (0, "")
    assert lines["problem"] == f"{file}: 12 spin variables, 8 rows"
    assert lines["objective"] == f"{result.fun:.10g}"
    assert lines["status"].startswith("optimal: ")
    assert lines["x"] == "".join("+" if x > 0 else "-" for x in result.x)
    assert len({len(line) - len(line.lstrip().split("  ", 1)[1]) for line in out.splitlines()}) == 1


def test_long_points_are_not_printed(capsys, tmp_path):
    dcra.io.write(tmp_path / "p.npz", dcra.Problem(linear=np.ones(65), domain="binary"))
    _, out, _ = outcome(capsys, "solve", str(tmp_path / "p.npz"), "--starts", "1")
    assert "65 numbers; get them by --output FILE or --json" in out


def test_pools(capsys, file):
    code, out, err = outcome(capsys, "solve", file, "--seed", "3", "--pool", "3", "--distance", "2")
    result = dcra.solve(dcra.io.read(file), seed=3, pool=dcra.Pool(3, 2))
    assert (code, err) == (0, "")
    lines = [line.strip().split("  ", 1) for line in out.splitlines()]
    assert ["pool", str(result.pool)] in lines
    points = ["".join("+" if x > 0 else "-" for x in point) for point in result.pool.points]
    values = [f"{value:.10g}" for value in result.pool.values]
    assert lines[-3:] == [list(row) for row in zip(values, points, strict=True)]
    _, out, _ = outcome(capsys, "solve", file, "--seed", "3", "--pool", "3", "--json")
    assert len(json.loads(out)["pool"]["fun"]) == 3
    code, _, err = outcome(capsys, "solve", file, "--distance", "2")
    assert (code, err.strip()) == (2, "dcra: --distance needs --pool, how many points to give")
    assert outcome(capsys, "solve", file, "--pool", "0")[0] == 2
    code, _, err = outcome(capsys, "solve", file, "--pool", "3", "--distance", "13")
    assert (code, err) == (2, "dcra: `distance` must be at most 12, the number of variables; got 13\n")


def test_pools_of_clauses_are_comments(capsys, tmp_path):
    path = tmp_path / "clauses.wcnf"
    path.write_text("h 1 2 0\nh -1 -2 0\n3 1 0\n2 2 0\n1 3 0\n")
    code, out, _ = outcome(capsys, "solve", str(path), "--seed", "0", "--pool", "3")
    pool = dcra.solve(dcra.io.read(path), seed=0, pool=3).pool
    lines = out.splitlines()
    assert code == 0
    assert lines[-6] == f"c pool: {pool}"
    points = ["".join(str(int(value)) for value in x) for x in pool.points]
    assert lines[-5:-2] == [f"c cost {v:g}: {x}" for v, x in zip(pool.values, points, strict=True)]
    assert lines[-2:] == ["s OPTIMUM FOUND", "v 101"]
    assert "c pool" not in outcome(capsys, "solve", str(path), "--seed", "0")[1]


def test_pools_of_clauses_say_which_points_are_not_allowed():
    """Those that no hard clause excludes, and one that a search met; none where there is no answer either."""
    problem = ClauseProblem(Clauses.of([[1], [2]], hard=[[1, 2]]))
    pool = Solutions(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([0.0, 5.0]))
    met = replace(dcra.solve(problem, seed=0), pool=pool)
    lines = pool_lines(problem, judged(problem, met))
    assert lines == ["c pool: 2 points, 0 to 5", "c cost 0: 11", "c cost 2, 1 hard clause FALSE: 00"]
    assert pool_lines(problem, judged(problem, replace(met, x=np.zeros(2)))) == []


def test_gaps(capsys, file):
    code, out, _ = outcome(
        capsys, "solve", file, "--seed", "3", "--gap", "1000", "--method", "flip", "--json"
    )
    assert (code, json.loads(out)["status"]) == (0, "gap")
    assert outcome(capsys, "solve", file, "--gap", "-1")[0] == 2


def test_json_is_one_object(capsys, file):
    code, out, err = outcome(capsys, "solve", file, "--json", "--seed", "3", "--domain", "binary")
    answer = json.loads(out)
    problem = dcra.io.read(file, domain="binary")
    assert (code, err) == (0, "")
    assert answer["seed"] == 3
    assert set(answer["x"]) <= {0, 1}
    assert answer["fun"] == problem.objective(answer["x"]) == dcra.solve(problem, seed=3).fun


def test_options_reach_the_solver(capsys, file, monkeypatch):
    given: dict[str, Any] = {}

    def solve(begun: float, problem: dcra.Problem, options: api.SolveOptions, progress: bool) -> Any:
        given.update(vars(options), loss=problem.terms[0].loss, domain=problem.domain, progress=progress)
        return original(begun, problem, api.SolveOptions(seed=0))

    original = api.solve_since
    monkeypatch.setattr(api, "solve_since", solve)
    words = "--loss huber:threshold=2 --domain binary --method sweep --time-limit 5 --starts 3 --target 1.5"
    code, _, _ = outcome(
        capsys, "solve", file, *words.split(), "--seed", "7", "--jobs", "2", "--device", "cpu", "--quiet"
    )
    assert code == 0
    assert given == {
        "loss": dcra.losses.Huber(2.0),
        "domain": "binary",
        "method": "sweep",
        "device": "cpu",
        "time_limit": 5.0,
        "starts": 3,
        "target": 1.5,
        "seed": 7,
        "n_jobs": 2,
        "x0": None,
        "callback": None,
        "gap": None,
        "pool": None,
        "fixed": None,
        "executor": None,
        "window": None,
        "on_tick": None,
        "progress": False,
    }


@pytest.mark.parametrize(("sense", "target"), [("Maximize", -6.0), ("Minimize", 6.0)])
def test_targets_are_in_the_sense_of_the_file(capsys, tmp_path, monkeypatch, sense, target):
    pytest.importorskip("highspy")

    def solve(begun: float, problem: dcra.Problem, options: api.SolveOptions, progress: bool) -> Any:
        given.append(options.target)
        return original(begun, problem, api.SolveOptions(seed=0))

    given: list[float | None] = []
    original = api.solve_since
    monkeypatch.setattr(api, "solve_since", solve)
    path = tmp_path / "k.lp"
    path.write_text(
        f"{sense}\n obj: 2 ham + eggs\nSubject To\n few: ham + eggs <= 1\nBinary\n ham eggs\nEnd\n"
    )
    for words in ([], ["--target", "6"]):
        assert outcome(capsys, "solve", str(path), *words)[0] == 0
    assert given == [None, target]


@pytest.mark.parametrize("name", ["small.npz", "clauses.cnf"])
def test_reading_is_part_of_the_time(capsys, file, monkeypatch, name):
    path = Path(file).with_name(name)
    if name == "clauses.cnf":
        path.write_text("p cnf 2 2\n1 2 0\n-1 2 0\n")
    read, clock = dcra.io.read, time.perf_counter
    late = 0.0

    def slowly(*args: Any, **options: Any) -> dcra.Problem:
        nonlocal late
        late = 1000.0
        return read(*args, **options)

    monkeypatch.setattr(dcra.io, "read", slowly)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + late)
    code, _, _ = outcome(capsys, "solve", str(path), "--output", str(path.with_suffix(".json")), "--quiet")
    assert code == 0
    assert json.loads(path.with_suffix(".json").read_text())["seconds"] > 1000


@pytest.mark.parametrize("ending", ["json", "npz", "txt"])
def test_answers_in_files(capsys, file, tmp_path, ending):
    path = tmp_path / f"answer.{ending}"
    code, _, _ = outcome(capsys, "solve", file, "--seed", "3", "--output", str(path))
    result = dcra.solve(dcra.io.read(file), seed=3)
    if ending == "json":
        x = json.loads(path.read_text())["x"]
    elif ending == "npz":
        with np.load(path) as answer:
            x = answer["x"]
            assert answer["fun"] == result.fun
            assert answer["history"].shape[1] == 3
    else:
        x = np.loadtxt(path)
    assert code == 0
    assert np.array_equal(x, result.x)


def test_pictures(capsys, file, tmp_path):
    code, _, err = outcome(capsys, "solve", file, "--plot", str(tmp_path / "p.png"))
    assert (code, err) == (0, "")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve"], "Missing argument 'FILE'"),
        (["solve", "FILE", "--speed"], "No such option:? '?--speed"),
        (["solve", "FILE", "--starts", "many"], "'many' is not a valid integer"),
        (["sovle", "FILE"], "No such command 'sovle'"),
        (["solve", "nowhere.npz"], r"nowhere\.npz: no such file"),
        (["solve", "."], "is a directory"),
        (["solve", "FILE", "--loss", "hubr"], "`loss` must be one of .*did you mean 'huber'"),
        (["solve", "FILE", "--loss", "huber:t=1"], "loss 'huber' has options threshold"),
        (["solve", "FILE", "--domain", "spins"], "`domain` must be one of spin, binary; got 'spins'"),
        (["solve", "FILE", "--method", "swep"], "`method` must be one of .*did you mean 'sweep'"),
        (["solve", "FILE", "--time-limit", "-1"], "`time_limit` must be positive and finite; got -1"),
        (["solve", "FILE", "--time-limit", "nan"], "`time_limit` must be positive and finite; got nan"),
        (["solve", "FILE", "--starts", "0"], "`starts` must be at least 1; got 0"),
        (["solve", "FILE", "--jobs", "0"], "`n_jobs` must be at least 1, or -1 for all cores; got 0"),
        (["solve", "FILE", "--seed", "-4"], "`seed` must not be negative; got -4"),
        (["solve", "FILE", "--b", "FILE"], r"an \.npz file holds its own `b`"),
        (["solve", "FILE", "--output", "answer.xls"], r"`--output` must be one of \.json, \.npz, \.txt"),
        (["solve", "FILE", "--output", "nowhere/answer.json"], "--output: there is no directory nowhere"),
        (["solve", "FILE", "--output", "."], r"--output: \. is a directory"),
        (["solve", "FILE", "--plot", "picture.bpm"], r"`--plot` must be one of .*'\.bpm'"),
        (["solve", "FILE", "--plot", "nowhere/p.png"], "--plot: there is no directory nowhere"),
        (["demo", "--seconds", "0"], "--seconds: must be positive; got 0"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(capsys, file, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = outcome(capsys, *(file if word == "FILE" else word for word in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("dcra: ")
    assert err.count("\n") == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(err)


def test_damaged_files_are_bad_input(capsys, tmp_path):
    (tmp_path / "p.npz").write_bytes(b"PK\x03\x04 cut short")
    code, _, err = outcome(capsys, "solve", str(tmp_path / "p.npz"))
    assert code == 2
    assert "damaged or cut short" in err


def test_an_answer_that_cannot_be_saved_is_still_printed(capsys, file, tmp_path, monkeypatch):
    def full(path: Path, result: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(WRITERS, ".json", full)
    code, out, err = outcome(capsys, "solve", file, "--json", "--output", str(tmp_path / "x.json"))
    assert code == 2
    assert json.loads(out)["success"]
    assert err.endswith("x.json: No space left on device\n")


def test_help_and_version(capsys):
    assert outcome(capsys)[1].startswith("Usage: dcra")
    assert outcome(capsys, "--help")[0] == 0
    assert outcome(capsys, "solve", "-h")[1].startswith("Usage: dcra solve")
    assert outcome(capsys, "--version") == (0, f"dcra {dcra.__version__}\n", "")


def test_interrupted_before_an_answer(capsys, monkeypatch):
    def read(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(dcra.io, "read", read)
    code, out, err = outcome(capsys, "solve", "p.npz")
    assert (code, out) == (130, "")
    assert err.strip() == "dcra: interrupted before there was an answer"


def test_interrupted_while_the_command_is_imported():
    code = """
import builtins, dcra
found = builtins.__import__
def interrupted(name, *rest):
    if name == "dcra.cli.solve":
        raise KeyboardInterrupt
    return found(name, *rest)
builtins.__import__ = interrupted
from dcra.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


INTERRUPTIBLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from dcra.polish.flip import Flip
start = Flip.start
def announced(self, compiled, starts):
    print("working", file=sys.stderr, flush=True)
    return start(self, compiled, starts)
Flip.start = announced
from dcra.cli import main
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for child processes on Windows")
@pytest.mark.parametrize("form", ["text", "json"])
def test_ctrl_c_prints_the_answer(tmp_path, form):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "big.npz", A=rng.standard_normal((600, 1200)), b=rng.standard_normal(600))
    words = ["solve", str(tmp_path / "big.npz"), "--method", "flip", "--time-limit", "3000"]
    command = [sys.executable, "-c", INTERRUPTIBLE, *words, *(["--json"] if form == "json" else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("working")  # a worker has begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    if form == "json":
        answer = json.loads(out)
        assert answer["status"] == "interrupted"
        assert answer["fun"] == pytest.approx(dcra.io.read(tmp_path / "big.npz").objective(answer["x"]))
    else:
        assert "interrupted; this is the best point so far" in out
        assert "objective" in out


def test_a_reader_that_goes_away(file):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from dcra.cli import main; main()", "solve", file]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_info(capsys):
    code, out, _ = outcome(capsys, "info", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["dcra"]["version"] == dcra.__version__
    assert report["packages"]["numpy"] == np.__version__
    assert {"numpy", "torch", "cupy", "jax"} == set(report["array libraries"])
    assert {"jobs", "blas"} == set(report["threads"])
    assert {"searched by"} == set(report["accelerator"])
    lines = outcome(capsys, "info")[1].splitlines()
    assert "compiled loops" in lines


@pytest.mark.usefixtures("compiled_loops")
def test_info_on_the_loops(capsys, monkeypatch):
    assert f"ready, for {library.level()}" in outcome(capsys, "info")[1]
    monkeypatch.setattr(library, "available", lambda: False)
    monkeypatch.setattr(library, "why_not", lambda: "there was no C++ compiler")
    assert "there was no C++ compiler; install a C++ compiler" in outcome(capsys, "info")[1]


def test_info_and_help_import_nothing_heavy():
    heavy = {"torch", "jax", "matplotlib", "sklearn", "scipy.sparse", "rich"}  # CuPy looks for devices
    for arguments in (["info"], ["--help"], ["solve", "nowhere.npz"]):
        code = f"import sys; from dcra.cli import run; run({arguments}); print(*({heavy} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "", arguments


def test_demo(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("dcra.cli.demonstration.HIDDEN", (30, 60, 0.2))
    monkeypatch.setattr("dcra.cli.demonstration.PAPER", (30, 50))
    path = tmp_path / "demo.png"
    code, out, err = outcome(capsys, "demo", "--seconds", "0.1", "--plot", str(path))
    assert (code, err) == (0, "")
    for name in ("random signs", "rounded relaxation", "one-flip descent", "the paper's DCRA", "auto"):
        assert name in out
    assert "bits wrong" in out
    assert "no x is below" in out
    assert path.read_bytes().startswith(b"\x89PNG")
    assert all(len(line) <= 80 for line in out.replace(str(path), "").splitlines())


def test_demo_says_why_there_is_no_picture(capsys, tmp_path, monkeypatch):
    from rich.console import Console

    from dcra.cli import demonstration as demo

    result = dcra.minimize(np.eye(2), np.ones(2), seed=0)
    entries = [demo.Entry("auto", result.fun, result.seconds, "", result=result)]
    demo.draw(Console(width=1000), entries, str(tmp_path / "nowhere" / "p.png"))
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    demo.draw(Console(width=1000), entries, str(tmp_path / "p.png"))
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("p.png: No such file or directory")
    assert "No picture: matplotlib is not installed" in second


def test_demo_is_interrupted(capsys, monkeypatch):
    from dcra.cli import demonstration as demo
    from dcra.result import Result, Status

    def minimize(*arguments: Any, **options: Any) -> Result:
        return Result(np.ones(1), 1.0, 0.0, Status.INTERRUPTED, (), 0, 0, 0.1, 0, "auto")

    monkeypatch.setattr(demo, "minimize", minimize)
    assert outcome(capsys, "demo")[0] == 130


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line(capsys):
    with bad_input():
        warnings.warn("mind the gap", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "Warning: mind the gap\n"
