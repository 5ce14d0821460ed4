"""The Biq Mac dialect of QUBO files; see `dcra.io.qubo`."""

from __future__ import annotations

from pathlib import Path

from dcra.io import qubo
from dcra.model.problem import Problem


def read(path: Path, b: Path | None = None) -> Problem:
    return qubo.read(path, b, "sparse")


def write(path: Path, problem: Problem) -> None:
    qubo.write(path, problem, "sparse")
