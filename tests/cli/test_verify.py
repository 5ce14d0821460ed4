"""`dcra solve --proof` and `dcra verify`."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.cli import run


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((12, 8)), rng.standard_normal(12)
    problem, other = tmp_path / "problem.npz", tmp_path / "other.npz"
    np.savez(problem, A=A, b=b)
    np.savez(other, A=A, b=b + 1)
    return problem, other, tmp_path / "proof.npz"


def call(*arguments):
    return run([str(argument) for argument in arguments])


def solved(problem, proof, method="exact"):
    return call("solve", problem, "--method", method, "--proof", proof, "--starts", 1, "--seed", 0, "--quiet")


def test_from_the_problem_to_the_verdict(files, capsys):
    problem, other, proof = files
    assert solved(problem, proof) == 0
    capsys.readouterr()
    assert call("verify", proof, problem) == 0
    said = capsys.readouterr().out
    assert "verified without rounding" in said
    assert "no point is below" in said
    assert call("verify", proof, problem, "--rounded") == 0
    assert "in float64" in capsys.readouterr().out
    assert call("verify", proof, other) == 1
    assert "another problem" in capsys.readouterr().out
    assert call("verify", proof, problem, "--loss", "hinge") == 1


def test_damaged_files_are_bad_input(files, capsys):
    problem, _, proof = files
    solved(problem, proof)
    proof.write_bytes(proof.read_bytes()[:-40])
    assert call("verify", proof, problem) == 2
    assert call("verify", problem, problem) == 2
    assert "not a proof" in capsys.readouterr().err


def test_no_proof_no_file(files, capsys):
    problem, _, proof = files
    assert solved(problem, proof, "flip") == 0
    assert "not written" in capsys.readouterr().err
    assert not proof.exists()
    assert call("solve", problem, "--proof", proof.with_suffix(".txt")) == 2
    assert "must end in .npz" in capsys.readouterr().err
