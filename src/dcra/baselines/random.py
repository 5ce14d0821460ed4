"""Random signs: what every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State
from dcra.polish.base import initial_spins


@dataclass(frozen=True)
class RandomSigns(Engine):
    """Each start is its own answer."""

    name: ClassVar[str] = "random"
    alone: ClassVar[bool] = True

    def start(self, compiled: Compiled, starts: Starts) -> State:
        return RandomState(initial_spins(compiled, starts))


class RandomState(State):
    done = True

    def __init__(self, spins: Host) -> None:
        self.spins = spins

    def advance(self, work: int) -> None:
        """Nothing to do."""

    def candidates(self) -> Host:
        return self.spins
