"""Kinds of problem that bring a plan and a bound of their own.

A subclass of `Problem` names its specialist as 'module:object'; what it leaves to the general methods it
answers with None.
"""

from __future__ import annotations

from typing import Protocol

from dcra.bounds.dual import DualStage, Stage
from dcra.compiled.form import Compiled
from dcra.model.problem import Problem
from dcra.named import load
from dcra.search.plans import Plan


class Specialist(Protocol):
    """What is known about one kind of problem."""

    def plan(self, compiled: Compiled, seconds_left: float | None) -> Plan | None:
        """How method "auto" should search."""

    def bound_stage(self, compiled: Compiled, fun: float, seconds: float) -> Stage | None:
        """What raises the lower bound, given the objective of a point and the time there is."""


class Generalist:
    """The specialist of problems of no special kind."""

    def plan(self, compiled: Compiled, seconds_left: float | None) -> Plan | None:
        return None

    def bound_stage(self, compiled: Compiled, fun: float, seconds: float) -> Stage | None:
        return None


def specialist_of(problem: Problem) -> Specialist:
    """The specialist of a problem's kind."""
    found: Specialist = load(problem.specialist) if problem.specialist else Generalist()
    return found


def bound_stage(compiled: Compiled, fun: float, seconds: float) -> Stage:
    """The stage that raises the bound of a problem, given the objective of a point and the time there is."""
    special = specialist_of(compiled.problem).bound_stage(compiled, fun, seconds)
    if special is not None:
        return special
    if compiled.quadratic is None:
        return DualStage(compiled, fun)
    from dcra.bounds.semidefinite import SdpStage
    from dcra.bounds.semidefinite_with_losses import MixedStage

    return (MixedStage if compiled.pieces else SdpStage)(compiled, fun, seconds)
