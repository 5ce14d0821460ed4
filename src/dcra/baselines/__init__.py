"""Rivals, one file each: the same call as any other method."""

from __future__ import annotations

from typing import Any

from dcra.named import load

_LAZY = {
    "CpSat": "dcra.baselines.cpsat",
    "Gurobi": "dcra.baselines.gurobi",
    "L2BoxAdmm": "dcra.baselines.l2box_admm",
    "LpRounding": "dcra.baselines.lp_rounding",
    "Milp": "dcra.baselines.milp",
    "MpecAdm": "dcra.baselines.mpec_adm",
    "MpecEpm": "dcra.baselines.mpec_epm",
    "MpecEpmTable": "dcra.baselines.mpec_epm_table",
    "RandomSigns": "dcra.baselines.random",
    "Scip": "dcra.baselines.scip",
    "SdpRounding": "dcra.baselines.sdp_rounding",
    "ShaPeak": "dcra.baselines.shapeak",
    "Subgradient": "dcra.baselines.subgradient",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return load(f"{_LAZY[name]}:{name}")
    raise AttributeError(f"module 'dcra.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
