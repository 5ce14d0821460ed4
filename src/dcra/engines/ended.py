"""What is left of a state once it has been taken as far as it goes: plain values, which travel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcra._array import Host
from dcra.engines.base import News, State


class Ended(State):
    """The answers of a state and all that a plan reads of it, without the problem.

    Parameters
    ----------
    state : State
    points : bool
        Whether its candidates are among what is kept.
    """

    def __init__(self, state: State, points: bool = True) -> None:
        self._spins = packed(state.candidates()) if points else None
        self._done, self._steps = state.done, state.steps
        self._work, self._pace = float(state.work), float(state.pace)
        self._estimate = state.estimate()
        self._news = state.take_news()
        self._stages = tuple(Ended(one, points=False) for one in state.stages if one is not state)
        self._facts = {name: _plain(value) for name, value in state.facts.items()}

    def advance(self, work: int) -> None:
        pass

    @property
    def done(self) -> bool:
        return self._done

    def candidates(self) -> Host:
        assert self._spins is not None
        return self._spins.astype(np.float64)

    def estimate(self) -> float | None:
        return self._estimate

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def work(self) -> float:
        return self._work

    @property
    def pace(self) -> float:
        return self._pace

    @property
    def stages(self) -> tuple[State, ...]:
        return self._stages or (self,)

    @property
    def facts(self) -> dict[str, Any]:
        return self._facts

    def add_news(self, earlier: list[News]) -> None:
        """What the state said on its way, before what it said at its end."""
        self._news = [*earlier, *self._news]

    def take_news(self) -> list[News]:
        news, self._news = self._news, []
        return news


def packed(spins: Host) -> Host:
    """The same spins, a byte each."""
    short = spins.astype(np.int8)
    return short if np.array_equal(short, spins) else spins


def _plain(value: Any) -> Any:
    return Ended(value) if isinstance(value, State) else value
