"""What a model of another library adds up to while it is read: losses, linear and quadratic part, rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
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

    def gathered(self, ends: tuple[Host, Host] | None) -> Problem | IntegerProblem:
        """The problem: of bits, or of whole numbers between the ends that are given."""
        parts: dict[str, Any] = {
            "terms": self.terms,
            "linear": self.linear,
            "quadratic": self.quadratic,
            "constant": self.constant,
            "constraints": self.rows,
        }
        if ends is None:
            return Problem(**parts, domain="binary")
        return IntegerProblem(**parts, domain=integers(*ends))
