"""An engine followed by another that starts from its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dcra._array import Host
from dcra.compiled.form import Compiled
from dcra.engines.base import Engine, Starts, State


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
    """`second` is None until `first` is done."""

    def __init__(self, engine: Polished, compiled: Compiled, starts: Starts) -> None:
        self.engine, self.compiled, self.starts = engine, compiled, starts
        self.first = engine.first.start(compiled, starts)
        self.second: State | None = None

    def advance(self, work: int) -> None:
        if self.second is not None:
            self.second.advance(work)
            return
        self.first.advance(work)
        if self.first.done:
            starts = self.polished_from(self.first.candidates())
            self.second = self.engine.second.start(self.compiled, starts)

    def polished_from(self, spins: Host) -> Starts:
        """The starts of `second`, where `first` ended at `spins`."""
        return replace(self.starts, points=spins)

    @property
    def done(self) -> bool:
        return self.second is not None and self.second.done

    @property
    def steps(self) -> int:
        return self.first.steps + (self.second.steps if self.second else 0)

    @property
    def work(self) -> float:
        return self.first.work + (self.second.work if self.second else 0.0)

    @property
    def stages(self) -> tuple[State, ...]:
        return (*self.first.stages, *(self.second.stages if self.second else ()))

    def estimate(self) -> float | None:
        return self.second.estimate() if self.second else None

    def candidates(self) -> Host:
        return (self.second or self.first).candidates()
