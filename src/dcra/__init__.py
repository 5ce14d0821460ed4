"""Binary optimisation under losses that need not be smooth.

minimise  sum_t w_t f_t(A_t x - b_t) + c'x + x'Qx   over x in {-1,1}^n or {0,1}^n
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dcra.api import minimize, minimize_batch, solve
from dcra.model.constraints import at_least, at_most, exactly
from dcra.model.logic import clause, implies, one_of
from dcra.model.pool import Pool
from dcra.model.problem import Problem
from dcra.model.soft import soft
from dcra.model.term import Term
from dcra.named import load
from dcra.result import Result, Status
from dcra.search.interrupts import interruptible

for _needed in (
    *("numpy.random", "threadpoolctl", "dcra.model.integrality", "dcra.polish.anneal", "dcra.auto.decision"),
    *("dcra.auto.descents", "dcra.auto.least_squares"),
    *("dcra.auto.accelerator", "dcra.polish.recipes", "dcra.polish.flip"),
    *(f"dcra._kernels.{loop}" for loop in ("state", "sweep", "anneal", "flip")),
):
    import_module(_needed)  # before the clock of a first solve starts

__version__ = "0.2.0"

_MODULES = {
    *("apps", "baselines", "datasets", "engines", "interop", "io", "lift", "losses", "messages", "methods"),
    *("retrieval", "testing", "theory"),
}

_CALLS = {
    "IntegerProblem": "dcra.model.integers:IntegerProblem",
    "integers": "dcra.model.integers:integers",
    "solve_many": "dcra.machines.many:solve_many",
}

if TYPE_CHECKING:
    from dcra import (
        apps,
        baselines,
        datasets,
        engines,
        interop,
        io,
        lift,
        losses,
        messages,
        methods,
        retrieval,
        testing,
        theory,
    )
    from dcra.machines.many import solve_many
    from dcra.model.integers import IntegerProblem, integers

__all__ = [
    "IntegerProblem",
    "Pool",
    "Problem",
    "Result",
    "Status",
    "Term",
    "apps",
    "at_least",
    "at_most",
    "baselines",
    "clause",
    "datasets",
    "engines",
    "exactly",
    "implies",
    "integers",
    "interop",
    "interruptible",
    "io",
    "lift",
    "losses",
    "messages",
    "methods",
    "minimize",
    "minimize_batch",
    "one_of",
    "retrieval",
    "soft",
    "solve",
    "solve_many",
    "testing",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"dcra.{name}")
    if name in _CALLS:
        return load(_CALLS[name])
    raise AttributeError(f"module 'dcra' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
