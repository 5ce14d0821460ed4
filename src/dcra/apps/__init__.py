"""Applications: one module each, imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_LAZY = {
    "BinaryRegressor": "dcra.apps.regression",
    "OutlierReport": "dcra.apps._outliers",
    "SupervisedHashing": "dcra.apps.hashing",
    **dict.fromkeys(("ising", "maxcut", "qubo"), "dcra.apps.quadratic"),
}
_MODULES = {"compressed_sensing", "hashing", "maxsat", "mimo", "qap", "quadratic", "regression"}

if TYPE_CHECKING:
    from dcra.apps import compressed_sensing, hashing, maxsat, mimo, qap, quadratic, regression
    from dcra.apps._outliers import OutlierReport
    from dcra.apps.hashing import SupervisedHashing
    from dcra.apps.quadratic import ising, maxcut, qubo
    from dcra.apps.regression import BinaryRegressor

__all__ = [
    "BinaryRegressor",
    "OutlierReport",
    "SupervisedHashing",
    "compressed_sensing",
    "hashing",
    "ising",
    "maxcut",
    "maxsat",
    "mimo",
    "qap",
    "quadratic",
    "qubo",
    "regression",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _MODULES:
        return import_module(f"dcra.apps.{name}")
    raise AttributeError(f"module 'dcra.apps' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
