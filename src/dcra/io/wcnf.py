"""Clauses with weights, whatever the name of the file is; see `dcra.io.dimacs`."""

from __future__ import annotations

from pathlib import Path

from dcra.apps.maxsat.problem import ClauseProblem
from dcra.io import dimacs
from dcra.model.problem import Problem


def read(path: Path, b: Path | None) -> ClauseProblem:
    return dimacs.read(path, b, weighted=True)


def write(path: Path, problem: Problem) -> None:
    dimacs.write(path, problem, weighted=True)
