"""RC2 of python-sat: cores of clauses that cannot all be true, until those that are left can.

What it says is judged by the clauses themselves, in whole numbers: an optimum must have the cost that was
claimed for it. It can be stopped from another thread at any moment; what it has shown by then stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcra.apps.maxsat.clauses import Clauses

SOLVER = "m22"
"""MiniSat: it looks whether it is to end at every decision, others at restarts only."""


class CoreAnswer(NamedTuple):
    """No feasible point costs less than `bound`; x (n,) bool costs no more, where there is one.

    `infeasible` says that hard clauses cannot all be true, `wrong` that what was claimed does not fit the
    clauses: then nothing else is said.
    """

    bound: Fraction
    x: NDArray[np.bool_] | None = None
    infeasible: bool = False
    wrong: bool = False


class Cores:
    """One run over some clauses; `told` hears of every bound that rises.

    Weights of any size are taken as they are: numbers that are not whole have a common unit.
    """

    def __init__(self, clauses: Clauses, told: Callable[[Fraction], None] | None = None) -> None:
        self.clauses, self.told = clauses, told
        self.unit, self.weights = _whole(clauses.weight)
        empty = np.flatnonzero(clauses.lengths == 0)
        self.base = sum(self.weights[c] for c in empty.tolist())  # what clauses without literals cost
        self.hopeless = bool(np.any(clauses.hard[empty]))
        self.stopping, self.lock = False, Lock()
        self.oracle: Any = None
        self.bound = self._cost(0)

    def stop(self) -> None:
        """End the run; may be called by another thread, and again."""
        self.stopping = True
        with self.lock:
            if self.oracle is not None:
                self.oracle.interrupt()

    def solve(self) -> CoreAnswer:
        """Run to the end, or until it is stopped. An ImportError where python-sat is missing."""
        from pysat.examples.rc2 import RC2

        if self.hopeless:
            return CoreAnswer(Fraction(self.clauses.top), infeasible=True)
        own, model = None, None
        with suppress(Stopped):
            own = _heard(RC2, self)(self._formula(), solver=SOLVER)
            self.oracle, own.oracle = own.oracle, Oracle(own.oracle, self)
            model = own.compute(expect_interrupt=True)
        with self.lock:  # nobody interrupts what is gone
            if own is not None:
                own.oracle = self.oracle
                own.delete()
            self.oracle = None
        if own is None or self.stopping:
            return CoreAnswer(self.bound)
        return self._judged(model, own.cost)

    def raised(self, cost: int) -> None:
        """Take note of a bound."""
        self.bound = self._cost(cost)
        if self.told is not None:
            self.told(self.bound)

    def _formula(self) -> Any:
        """The clauses as python-sat has them, in lists that end when the run is to."""
        from pysat.formula import WCNF

        formula, clauses = WCNF(), self.clauses
        formula.nv = clauses.n
        formula.hard, formula.soft = Stoppable(), Stoppable()
        formula.hard.run = formula.soft.run = self
        flat, ptr = clauses.literals.tolist(), clauses.ptr.tolist()
        for c, (weight, hard) in enumerate(zip(self.weights, clauses.hard.tolist(), strict=True)):
            if self.stopping:
                raise Stopped
            literals = flat[ptr[c] : ptr[c + 1]]
            if hard:
                formula.hard.append(literals)
            elif literals:
                formula.soft.append(literals)
                formula.wght.append(weight)
        return formula

    def _judged(self, model: list[int] | None, cost: int) -> CoreAnswer:
        """What the run came to; an optimum must have the cost that was counted for it."""
        if model is None:
            return CoreAnswer(Fraction(self.clauses.top), infeasible=True)
        x = np.zeros(self.clauses.n, bool)
        literals = np.array(model, np.int64)
        x[literals[literals > 0] - 1] = True
        if self.clauses.violated(x) or self.cost_of(x) != self._cost(cost):
            return CoreAnswer(Fraction(0), x, wrong=True)
        return CoreAnswer(self._cost(cost), x)

    def cost_of(self, x: NDArray[Any]) -> Fraction:
        """Weight of the false soft clauses at x (n,), without rounding."""
        false = np.flatnonzero((self.clauses.true_literals(x) == 0) & ~self.clauses.hard)
        return self.unit * sum(self.weights[c] for c in false.tolist())

    def _cost(self, counted: int) -> Fraction:
        return self.unit * (self.base + counted)


def _whole(weight: NDArray[Any]) -> tuple[Fraction, list[int]]:
    """A unit, and weights as whole numbers of it."""
    if weight.dtype.kind == "i":
        return Fraction(1), weight.tolist()
    exact = [Fraction(w) for w in weight.tolist()]
    common = max((w.denominator for w in exact), default=1)  # powers of two, all of them
    return Fraction(1, common), [int(w * common) for w in exact]


class Stopped(Exception):
    """The run is to end."""


class Stoppable(list[Any]):
    """A list that is gone through only while the run goes on."""

    run: Cores

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            if self.run.stopping:
                raise Stopped
            yield item


class Oracle:
    """A SAT solver whose calls let other threads work, and which does nothing more once the run is to end.

    A call that was cut short has no answer, which RC2 would take for "cannot be".
    """

    def __init__(self, solver: Any, run: Cores) -> None:
        self.solver, self.run = solver, run

    def solve_limited(self, assumptions: Any = (), expect_interrupt: bool = True) -> bool | None:
        found: bool | None = self.solver.solve_limited(assumptions=assumptions, expect_interrupt=True)
        if self.run.stopping:
            raise Stopped
        return found

    solve = solve_limited

    def __getattr__(self, name: str) -> Any:
        if self.run.stopping:
            raise Stopped
        return getattr(self.solver, name)


def _heard(base: type, run: Cores) -> type:
    """RC2 whose cost is heard of."""

    class HeardRC2(base):  # type: ignore[misc]
        def process_core(self) -> None:
            super().process_core()
            run.raised(self.cost)

    return HeardRC2
