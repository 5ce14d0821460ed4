"""Engines: how a start becomes a local answer."""

from typing import TYPE_CHECKING, Any

from dcra.engines.base import Engine, Starts, State
from dcra.engines.polished import Polished
from dcra.engines.sweep import Sweep
from dcra.named import load

if TYPE_CHECKING:
    from dcra.engines.dcra import DCRA

__all__ = ["DCRA", "Engine", "Polished", "Starts", "State", "Sweep"]


def __getattr__(name: str) -> Any:
    """DCRA is loaded when it is first asked for: "auto" has no need of it."""
    if name == "DCRA":
        return load("dcra.engines.dcra:DCRA")
    raise AttributeError(f"module 'dcra.engines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
