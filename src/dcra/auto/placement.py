"""Where method "auto" searches a problem whose arrays are not NumPy's."""

from __future__ import annotations

from dcra._array import is_numpy, on_accelerator
from dcra._kernels import library
from dcra.compiled.form import LOOP_LOSSES
from dcra.losses import Linear
from dcra.model.problem import Problem

HOST_ENTRIES = 1_000_000
"""Entries of A up to which the compiled loops of the CPU find as much as an accelerator in the same time."""


def place(problem: Problem) -> Problem:
    """The problem, brought to the host if the loops know its losses and A is there already, or small."""
    far = on_accelerator(problem.like) and problem.entries > HOST_ENTRIES
    known = all(isinstance(term.loss, (*LOOP_LOSSES, Linear)) for term in problem.terms)
    if is_numpy(problem.like) or far or not known or not library.available():
        return problem
    return problem.on_host()
