"""Methods by name: one lazy table, so that nothing is imported before it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dcra.compiled import Compiled
from dcra.engines.base import Engine
from dcra.messages import suggest
from dcra.portfolio import Exhaust, Plan, Repeat

METHODS: dict[str, str] = {
    "auto": "the best that is to be had in the time given",
    "sweep": "dcra.engines.recipes:sweep",
    "dcra": "dcra.engines.recipes:dcra",
    "dcra-paper": "dcra.engines.dcra:DCRA.paper",
    "flip": "dcra.polish.flip:Flip",
    "anneal": "dcra.polish.anneal:Anneal",
    "tabu": "dcra.polish.tabu:Tabu",
    "enumerate": "dcra.enumeration:Enumerate",
    "random": "dcra.baselines.random:RandomSigns",
    "sdp-rounding": "dcra.baselines.sdp_rounding:SdpRounding",
}
"""'module:factory' of each engine; "auto" is a plan of its own."""

NEEDS: dict[str, tuple[str, Callable[[Compiled], bool]]] = {
    "columns": ("A by columns", lambda compiled: compiled.has_columns),
    "table": ("losses known to the compiled loops and A on the host", lambda compiled: compiled.tabulated),
    "quadratic": (
        "a quadratic objective and nothing else, on the host",
        lambda compiled: compiled.tabulated and compiled.quadratic is not None and not compiled.pieces,
    ),
    "small": ("at most 40 variables", lambda compiled: compiled.n <= 40),
}


def resolve(method: str | Engine) -> tuple[str, Callable[[Compiled, float | None], Plan]]:
    """A method's label, and the function that makes its plan for a problem and the seconds it has."""
    if isinstance(method, Engine):
        return method.name, lambda compiled, _: _plan(method, compiled)
    if not isinstance(method, str):
        raise TypeError(f"`method` must be a name or an engine of dcra.engines; got {type(method).__name__}")
    if method not in METHODS:
        raise ValueError(suggest("method", method, METHODS))
    if method == "auto":
        from dcra.auto import plan_for

        return method, plan_for
    return method, lambda compiled, _: _plan(engine_of(method), compiled)


def engine_of(name: str) -> Engine:
    """The engine behind a name, with its default options."""
    module, _, path = METHODS[name].partition(":")
    target: Any = import_module(module)
    for part in path.split("."):
        target = getattr(target, part)
    engine: Engine = target()
    return engine


def missing(engine: Engine, compiled: Compiled) -> list[str]:
    """What a problem lacks for an engine, in words."""
    return [NEEDS[need][0] for need in sorted(engine.needs) if not NEEDS[need][1](compiled)]


def _plan(engine: Engine, compiled: Compiled) -> Plan:
    lacking = missing(engine, compiled)
    if lacking:
        fitting = [name for name in METHODS if name != "auto" and not missing(engine_of(name), compiled)]
        raise ValueError(
            f"method {engine.name!r} needs {' and '.join(lacking)}; "
            f"methods that fit: {', '.join(['auto', *fitting])}"
        )
    return Exhaust() if engine.name == "enumerate" else Repeat(engine)
