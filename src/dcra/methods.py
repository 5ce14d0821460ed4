"""Methods by name: one lazy table, so that nothing is imported before it is used."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from dcra._kernels import library
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine
from dcra.engines.polished import Polished
from dcra.exact.dual_rows import KNOWN
from dcra.exact.enumeration import enumerable
from dcra.exact.trees import TreeKind, tree_kind
from dcra.losses import Loss
from dcra.messages import suggest
from dcra.model.operators import MATERIALIZE_ENTRIES, MatrixFree
from dcra.named import load, offered
from dcra.search.plans import Exhaust, Nothing, Plan
from dcra.search.state import Search

RECIPES = "dcra.polish.recipes"

METHODS: dict[str, str] = {
    "auto": "the best that is to be had in the time given",
    "sweep": f"{RECIPES}:sweep",
    "dcra": f"{RECIPES}:dcra",
    "dcra-paper": "dcra.engines.dcra:DCRA.paper",
    "flip": "dcra.polish.flip:Flip",
    "pair-flip": "dcra.polish.pair:PairFlip",
    "anneal": "dcra.polish.anneal:Anneal",
    "tabu": "dcra.polish.tabu:Tabu",
    "enumerate": "dcra.exact.enumeration:Enumerate",
    "exact": "dcra.exact.prove:Prove",
    "meet": "dcra.exact.meet_in_the_middle:Meet",
    "lattice": "dcra.exact.box_points:BoxPoints",
    "random": "dcra.baselines.random:RandomSigns",
    "sdp-rounding": "dcra.baselines.sdp_rounding:SdpRounding",
    "subgradient": "dcra.baselines.subgradient:Subgradient",
    "mpec-epm": "dcra.baselines.mpec_epm:MpecEpm",
    "mpec-epm-table": "dcra.baselines.mpec_epm_table:MpecEpmTable",
    "mpec-adm": "dcra.baselines.mpec_adm:MpecAdm",
    "l2box-admm": "dcra.baselines.l2box_admm:L2BoxAdmm",
    "shapeak": "dcra.baselines.shapeak:ShaPeak",
    "lp-rounding": "dcra.baselines.lp_rounding:LpRounding",
    "milp": "dcra.baselines.milp:Milp",
    "gurobi": "dcra.baselines.gurobi:Gurobi",
    "cpsat": "dcra.baselines.cpsat:CpSat",
    "scip": "dcra.baselines.scip:Scip",
}
"""'module:factory' of each engine; "auto" is a decision of its own, in `dcra.auto.decision`."""

GROUP = "dcra.methods"
"""The entry points under which other packages offer engines: a name, and 'module:factory'."""

NEEDS: dict[str, Callable[[Compiled], str]] = {
    "columns": lambda compiled: "" if compiled.has_columns else "A by columns",
    "table": lambda compiled: (
        _loops(compiled) if compiled.fits_loops else "losses known to the compiled loops and A on the host"
    ),
    "loops": lambda compiled: _loops(compiled),
    "losses alone": lambda compiled: (
        "" if compiled.quadratic is None else "a problem without a quadratic term"
    ),
    "quadratic": lambda compiled: (
        _loops(compiled)
        if compiled.fits_loops and compiled.quadratic is not None and not compiled.pieces
        else "a quadratic objective and nothing else, on the host"
    ),
    "small": lambda compiled: "" if compiled.n <= 40 else "at most 40 variables",
    "convex": lambda compiled: _losses(compiled, "convex", lambda loss: loss.convex),
    "piecewise linear": lambda compiled: _losses(
        compiled, "piecewise linear", load("dcra.exact.mixed_model:piecewise_linear")
    ),
    "piecewise quadratic": lambda compiled: _losses(
        compiled, "piecewise quadratic", load("dcra.exact.mixed_model:piecewise_quadratic")
    ),
    "tree": lambda compiled: _tree(compiled),
    "clauses": lambda compiled: (
        "" if hasattr(compiled.problem, "clauses") else "clauses, as of dcra.apps.maxsat"
    ),
    "assignment": lambda compiled: (
        "" if hasattr(compiled.problem, "flow") else "an assignment, as of dcra.apps.qap"
    ),
    "equations": lambda compiled: (
        ""
        if load("dcra.exact.meet_in_the_middle:meetable")(compiled)
        else "equations between integers in at most 88 variables"
    ),
    "whole equations": lambda compiled: (
        ""
        if load("dcra.exact.box_points:solvable")(compiled)
        else "equations between integers in at most 200 variables"
    ),
}
"""What a problem lacks of something an engine may need, in words; empty where it lacks nothing."""

PLANS: dict[str, str] = {
    "repeat": "dcra.search.plans:Repeat",
    "once": "dcra.search.plans:Once",
    "exhaust": "dcra.search.plans:Exhaust",
    "delegate": "dcra.baselines.delegate:Delegate",
    "meet": "dcra.auto.equations:MeetPlan",
    "prove": "dcra.auto.proofs:ProvePlan",
}
"""'module:class' of the ways to schedule the starts of an engine."""


def resolve(method: Any) -> tuple[str, Engine | None]:
    """A method's label, and its engine; None for "auto", which chooses engines itself."""
    if isinstance(method, Engine):
        return label_of(method), method
    if not isinstance(method, str):
        raise TypeError(f"`method` must be a name or an engine of dcra.engines; got {type(method).__name__}")
    if not is_method(method):
        raise ValueError(suggest("method", method, (*METHODS, *offered(GROUP))))
    return method, None if method == "auto" else engine_of(method)


def is_method(name: str) -> bool:
    """Whether a method has this name: one of ours, or one that an installed package offers."""
    return name in METHODS or name in offered(GROUP)


def label_of(engine: Engine) -> str:
    """The method that an engine is with its present options, or else the name of its kind."""
    modules = (f"{RECIPES}:", f"{type(engine).__module__}:")
    for name, path in METHODS.items():
        if path.startswith(modules) and engine_of(name) == engine:
            return name
    if isinstance(engine, Polished):
        return f"{label_of(engine.first)} + {label_of(engine.second)}"
    return engine.name


def engine_of(name: str) -> Engine:
    """The engine behind a name, with its default options."""
    engine: Engine = load(METHODS.get(name) or offered(GROUP)[name])()
    return engine


def make_plan(search: Search, engine: Engine | None) -> Plan:
    """The plan of an engine for a search; of "auto" where there is none."""
    if engine is None:
        from dcra.auto.decision import decide

        return decide(search).make_plan()
    compiled = search.compiled
    if search.limits.time_limit is not None and is_unwritten(compiled) and missing(engine, compiled):
        return Nothing()
    if compiled.problem.constraints is None or engine.takes_constraints:
        return _schedule(engine, compiled)
    from dcra.constrained.plan import ConstrainedPlan

    return ConstrainedPlan(search, _schedule(engine, search.relaxation))


def is_unwritten(compiled: Compiled) -> bool:
    """Whether a LinearOperator would have been written out as a matrix, had there been time."""
    operators = [piece.operator for piece in compiled.pieces]
    return any(isinstance(A, MatrixFree) and prod(A.shape) <= MATERIALIZE_ENTRIES for A in operators)


def missing(engine: Engine, compiled: Compiled) -> list[str]:
    """What a problem lacks for an engine, in words."""
    return [lack for need in sorted(engine.needs) if (lack := NEEDS[need](compiled))]


def _loops(compiled: Compiled) -> str:
    why = library.why_not()
    return "" if compiled.loops else "the compiled loops" + (f" ({why})" if why else "")


def _tree(compiled: Compiled) -> str:
    kind = tree_kind(compiled.problem)
    if kind is TreeKind.COUPLINGS:
        return _loops(compiled)
    if kind is not TreeKind.NONE:
        return ""
    others = _losses(compiled, "known convex", lambda loss: isinstance(loss, KNOWN))
    return others or "A and couplings by columns and not too large"


def _losses(compiled: Compiled, kind: str, fits: Callable[[Loss], bool]) -> str:
    others = sorted({type(t.loss).__name__ for t in compiled.problem.terms if not fits(t.loss)})
    return f"{kind} losses (not {', '.join(others)})" if others else ""


def _schedule(engine: Engine, compiled: Compiled) -> Plan:
    prover = compiled.problem.prover if engine.plan == "prove" else ""
    own: Plan | None = load(prover)(engine, compiled) if prover else None
    if own is not None:
        return own
    lacking = missing(engine, compiled)
    if lacking and engine.plan == "prove" and enumerable(compiled, None):
        return Exhaust()
    if lacking:
        fitting = [name for name in METHODS if name != "auto" and not missing(engine_of(name), compiled)]
        raise ValueError(
            f"method {engine.name!r} needs {' and '.join(lacking)}; "
            f"methods that fit: {', '.join(['auto', *fitting])}"
        )
    plan: Plan = load(PLANS[engine.plan])(engine)
    return plan
