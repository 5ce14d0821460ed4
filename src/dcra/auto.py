"""Method "auto": enumeration where that is quick, sweeps and flips otherwise."""

from __future__ import annotations

from dcra.compiled import Compiled
from dcra.enumeration import enumerable
from dcra.portfolio import Exhaust, Plan, Repeat


def plan_for(compiled: Compiled, seconds_left: float | None) -> Plan:
    if enumerable(compiled, seconds_left):
        return Exhaust()
    from dcra.engines.recipes import sweep

    return Repeat(sweep())
