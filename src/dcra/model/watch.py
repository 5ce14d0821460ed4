"""A clock that is looked at before every product by A, since one product may take long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from dcra._array import Array

PRODUCT_SECONDS = 0.01
"""Columns that are multiplied between two looks at the clock take about this long, or are but one."""


class OutOfTime(Exception):
    """No further product may begin: the time is over, or the search has ended."""


@dataclass
class _Known:
    """What all watches of one search share."""

    pace: float | None = None  # seconds of a product by one vector
    open: bool = False


class Watch:
    """Refuses products from `end` on, or from when `ended` says so.

    Parameters
    ----------
    clock : callable
    end : float
        In seconds of the clock; inf where there is no limit.
    ended : callable, optional
        Whether the search that asks for products is over.
    """

    def __init__(
        self, clock: Callable[[], float], end: float = inf, ended: Callable[[], bool] | None = None
    ) -> None:
        self.clock, self.end, self.ended = clock, end, ended
        self.known = _Known()

    def within(self, ended: Callable[[], bool]) -> Watch:
        """The same watch for the products of a search that may end before the time does."""
        twin = copy(self)
        twin.ended = ended
        return twin

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Refuse nothing inside: for what an answer cannot do without."""
        self.known.open = True
        try:
            yield
        finally:
            self.known.open = False

    @property
    def over(self) -> bool:
        if self.known.open:
            return False
        return (self.ended is not None and self.ended()) or (self.end < inf and self.clock() >= self.end)

    def check(self) -> None:
        """Between two pieces of work, each of them short."""
        if self.over:
            raise OutOfTime

    @property
    def products_left(self) -> float:
        """How many products by one vector fit into the time left, as far as their pace is known."""
        if self.known.open or self.end == inf or self.known.pace is None:
            return inf
        return max(0.0, self.end - self.clock()) / max(self.known.pace, 1e-9)

    def few(self, share: float, least: int, most: int) -> int:
        """As many products as a share of the time left allows, between `least` and `most`."""
        return int(np.clip(share * min(self.products_left, 1e9), least, most))

    def multiply(self, product: Callable[[Array], Array], X: Array) -> Array:
        """product(X) of rows X (..., n), some rows at a time where the time is limited."""
        if self.end == inf or self.known.open:
            self.check()
            return product(X)
        rows = X.reshape((-1, X.shape[-1]))
        parts: list[Any] = []
        lo = 0
        while lo < rows.shape[0]:
            self.check()
            width = self._width(rows.shape[0] - lo)
            begin = self.clock()
            parts.append(product(rows[lo : lo + width, :]))
            self.known.pace = (self.clock() - begin) / width
            lo += width
        if len(parts) == 1:
            return parts[0].reshape((*X.shape[:-1], parts[0].shape[-1]))
        from dcra._array import namespace

        return namespace(X).concat(parts, axis=0).reshape((*X.shape[:-1], parts[0].shape[-1]))

    def _width(self, most: int) -> int:
        pace = self.known.pace
        return 1 if pace is None else int(np.clip(PRODUCT_SECONDS / max(pace, 1e-9), 1, most))
