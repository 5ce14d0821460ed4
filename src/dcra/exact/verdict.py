"""What comes of checking a proof."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Refuted(ValueError):
    """A proof that does not hold."""


class Verdict(NamedTuple):
    """What was shown: no point falls below `bound`; the proof's own point has the objective `fun`."""

    bound: Fraction
    fun: Fraction
    exact: bool
    nodes: int
