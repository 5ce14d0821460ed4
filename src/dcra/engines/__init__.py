"""Engines: how a start becomes a local answer."""

from dcra.engines.base import Engine, Starts, State
from dcra.engines.dcra import DCRA
from dcra.engines.polished import Polished
from dcra.engines.sweep import Sweep

__all__ = ["DCRA", "Engine", "Polished", "Starts", "State", "Sweep"]
