"""What a model of another library adds up to while it is read: losses, linear and quadratic part, rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.model.infeasibility import Contradiction
from dcra.model.integers import IntegerProblem, integers
from dcra.model.problem import Problem
from dcra.model.term import Term


class Parts:
    """sum of terms + linear'x + x'quadratic x + constant under rows, for n variables that are whole numbers.

    `rows` has the constraints by name.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.terms: list[Term] = []
        self.linear, self.constant = np.zeros(n), 0.0
        self.quadratic: Any = None
        self.rows: dict[str, Any] = {}

    def add_affine(self, slope: Host, constant: Any) -> None:
        self.linear = self.linear + slope
        self.constant += float(constant)

    def add_quadratic(self, Q: Any) -> None:
        self.quadratic = Q if self.quadratic is None else self.quadratic + Q

    def free_name(self, name: str) -> str:
        """The name for a constraint, with a number behind it where another has it."""
        others = (f"{name} ({k})" for k in count(2))
        return name if name not in self.rows else next(one for one in others if one not in self.rows)

    def gathered(
        self, ends: tuple[Host, Host] | None, name_of: Callable[[int], str]
    ) -> Problem | IntegerProblem:
        """The problem: of bits, or of whole numbers between the ends that are given; `name_of` a variable."""
        parts: dict[str, Any] = {
            "terms": self.terms,
            "linear": self.linear,
            "quadratic": self.quadratic,
            "constant": self.constant,
            "constraints": self.rows,
        }
        if ends is None:
            return Problem(**parts, domain="binary")
        refuse_empty(*ends, name_of)
        return IntegerProblem(**parts, domain=integers(*ends))


def refuse_empty(low: Host, high: Host, name_of: Callable[[int], str]) -> None:
    """Raise a Contradiction that names a variable which has no value from low to high."""
    for k in np.flatnonzero(low > high)[:1]:
        raise Contradiction(
            f"variable {name_of(int(k))} has no value left: its bounds, and the constraints on it alone, "
            f"ask for whole numbers from {low[k]:g} to {high[k]:g}. Widen one of them"
        )
