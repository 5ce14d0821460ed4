"""Engines as they are called by name: the continuous ones are followed by one-flip descent."""

from dcra.engines.polished import Polished
from dcra.engines.sweep import Sweep
from dcra.polish.flip import Flip


def dcra() -> Polished:
    from dcra.engines.dcra import DCRA

    return Polished(DCRA(), Flip())


def sweep() -> Polished:
    return Polished(Sweep(), Flip())
