"""Random signs: what every other method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dcra.polish.base import AsGiven


@dataclass(frozen=True)
class RandomSigns(AsGiven):
    """Each start is its own answer."""

    name: ClassVar[str] = "random"
