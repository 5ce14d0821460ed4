"""What a search says to `logging.getLogger("dcra")`: its beginning and end (INFO), improvements (DEBUG)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dcra.result import Progress, Result

if TYPE_CHECKING:
    from dcra.search.state import Search

LOG = logging.getLogger("dcra")
LOG.addHandler(logging.NullHandler())  # silent, unless the user asks for it


def begun(search: Search) -> None:
    LOG.info("begin: %r, method %s, seed %d", search.compiled.problem, search.method, search.seed)


def improved(row: Progress) -> None:
    LOG.debug("%.3f s: best %.10g, lower bound %.10g", *row)


def ended(result: Result) -> None:
    words = (result.seconds, result.status.value, result.fun, result.lower_bound)
    LOG.info("end after %.3f s, %s: best %.10g, lower bound %.10g", *words)
