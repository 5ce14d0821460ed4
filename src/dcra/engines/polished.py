"""An engine followed by another that starts from its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dcra.compiled import Compiled
from dcra.engines.base import Engine, Host, Starts, State


@dataclass(frozen=True)
class Polished(Engine):
    """`first`, then `second` from where it ended."""

    first: Engine
    second: Engine
    name: ClassVar[str] = "polished"

    def batch(self, compiled: Compiled) -> int:
        return self.first.batch(compiled)

    def setup_work(self, compiled: Compiled) -> int:
        return self.first.setup_work(compiled)

    def start(self, compiled: Compiled, starts: Starts) -> PolishedState:
        return PolishedState(self, compiled, starts)


class PolishedState(State):
    def __init__(self, engine: Polished, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.state = engine.first.start(compiled, starts)
        self.polishing = False
        self._steps = 0

    def advance(self, work: int) -> None:
        self.state.advance(work)
        if self.state.done and not self.polishing:
            self._steps = self.state.steps
            points = replace(self.starts, points=self.state.candidates())
            self.state = self.engine.second.start(self.compiled, points)
            self.polishing = True

    @property
    def done(self) -> bool:
        return self.polishing and self.state.done

    @property
    def steps(self) -> int:
        return self._steps + (0 if self.polishing else self.state.steps)

    def candidates(self) -> Host:
        return self.state.candidates()
