"""Where method "auto" searches a problem whose arrays are not NumPy's."""

from __future__ import annotations

from dcra._array import is_numpy, on_accelerator
from dcra._kernels import library
from dcra.accelerator.device import number_under, why_not
from dcra.accelerator.shape import MOST_ROWS
from dcra.compiled.form import LOOP_LOSSES
from dcra.losses import Linear, TableLoss
from dcra.model.problem import Problem

HOST_ENTRIES = 1_000_000
"""Entries of A up to which the compiled loops of the CPU find as much as array code on an accelerator."""

REPLICA_ENTRIES = 20_000
"""The same where the kernels of `dcra.accelerator` can take the problem."""


def place(problem: Problem, device: str | None = None) -> Problem:
    """The problem, brought to the host if the loops know its losses and A is there already, or small.

    `device` is what the user asked for; "cpu" brings it home whatever its size.
    """
    if is_numpy(problem.like) or not library.available():
        return problem
    far = device != "cpu" and on_accelerator(problem.like) and problem.entries > least_entries(problem)
    known = all(isinstance(term.loss, (*LOOP_LOSSES, Linear)) for term in problem.terms)
    return problem.on_host() if known and not far else problem


def device_under(problem: Problem) -> str | None:
    """The device with kernels of our own that the arrays lie on, "cuda:0" or so; None where there is none."""
    number = number_under(problem.home)
    return None if number is None or why_not(number) else f"cuda:{number}"


def least_entries(problem: Problem) -> int:
    """Entries of A up to which a problem on an accelerator is better searched by the CPU."""
    number = number_under(problem.like)
    tables = bool(problem.terms) and all(isinstance(term.loss, TableLoss) for term in problem.terms)
    rows = sum(term.operator.shape[0] for term in problem.terms)
    losses = tables and problem.quadratic is None and rows <= MOST_ROWS
    couplings = not problem.terms and problem.quadratic is not None
    taken = (losses or couplings) and problem.constraints is None
    if not taken or number is None or why_not(number):
        return HOST_ENTRIES
    return min(REPLICA_ENTRIES, HOST_ENTRIES)
