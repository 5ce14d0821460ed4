"""Whether what is made for equations between integers promises anything for a problem."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from dcra.compiled.form import Compiled
from dcra.exact.integer_equations import Equations, equations_of

LONGEST = 2.0
"""Seconds of one thread that are worth it when there is no time limit."""

FIRST_SHARE = 0.7
"""Share of a time limit up to which meeting comes first."""

OVERTIME, LATTICE_OVERTIME = 4.0, 8.0
"""Up to this many times the time limit it shares the time: a part of the residues may be enough, and where
solutions are many a lattice has one long before what is estimated."""

SHORTEST_PAIRING = 2.0
"""Seconds below which near solutions are left to the descents."""

FEWEST, MOST = -24.0, 16.0
"""log2 of the solutions expected: below, a search has more rows to go by; above, it will meet one."""


class Meeting(NamedTuple):
    """The share of the time that meeting in the middle gets, whether near solutions are sought too, and the
    share that lattices get of all."""

    share: float = 0.0
    pairs: bool = False
    lattice: float = 0.0


def meeting_of(compiled: Compiled, seconds_left: float | None) -> Meeting:
    """What promises anything for the equations of a problem, in the time there is."""
    equations = equations_of(compiled.problem)
    if equations is None or not FEWEST <= equations.expected <= MOST:
        return Meeting()
    from dcra.exact.closest_pairs import suitable
    from dcra.exact.meet_in_the_middle import MAX_VARIABLES, seconds_for

    needed = seconds_for(equations, compiled.loops) if compiled.n <= MAX_VARIABLES else inf
    share = _share(needed, seconds_left)
    lattice = 0.0
    if compiled.loops and not (share == 1 and equations.required):
        reducing = _seconds_to_reduce(equations)
        lattice = _share(reducing, seconds_left, LATTICE_OVERTIME) if reducing < needed else 0.0
    pairs = (
        seconds_left is not None
        and share < 1
        and seconds_left >= SHORTEST_PAIRING
        and suitable(compiled, equations)
    )
    return Meeting(share, pairs, lattice)


def _share(needed: float, seconds_left: float | None, overtime: float = OVERTIME) -> float:
    """What something gets of the time: all where it is likely to end, half where a part may be enough."""
    if seconds_left is None:
        return 1.0 if needed <= LONGEST else 0.0
    return 1.0 if needed <= FIRST_SHARE * seconds_left else 0.5 if needed <= overtime * seconds_left else 0.0


def _seconds_to_reduce(equations: Equations) -> float:
    from dcra.exact import box_points

    return box_points.seconds_for(equations) if equations.n <= box_points.MOST_VARIABLES else inf
