"""Other people's detectors, one file each: functions of a `Received` that return levels (k, n)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dcra._array import Host
from dcra.apps.mimo.model import Received
from dcra.messages import suggest

RIVALS: dict[str, str] = {
    "zf": "linear:zero_forcing",
    "mmse": "linear:mmse",
    "mmse-sic": "linear:mmse_sic",
    "k-best": "k_best:k_best",
    "ep": "propagation:expectation_propagation",
    "sphere": "exact:sphere_decoder",
    "sdr": "semidefinite:semidefinite",
}
"""'module:function' of each rival."""


def rival(name: str) -> Callable[[Received], Host]:
    """The detector behind a name."""
    if name not in RIVALS:
        raise ValueError(suggest("rival", name, RIVALS))
    module, _, function = RIVALS[name].partition(":")
    found: Callable[[Received], Host] = getattr(import_module(f"{__name__}.{module}"), function)
    return found
