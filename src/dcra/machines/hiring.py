"""From `executor=` to the limits of a search."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

from dcra.machines.crew import FarCrew
from dcra.machines.teams import team_for
from dcra.model.problem import Problem
from dcra.search.state import Limits
from dcra.search.threads import default_jobs

WAITING = 4
"""One errand waits for every few workers, so that none of these does; for each where starts are counted."""


def with_executor(limits: Limits, executor: Any, problem: Problem, n_jobs: int | None) -> Limits:
    """The limits of a search whose starts are taken to their ends by the workers of an executor."""
    make, found = team_for(executor)
    count = n_jobs or found or default_jobs()
    if found == 0:
        raise ValueError("`executor` is a client of a cluster without workers: start some, or wait for them")
    if limits.time_limit is None and count > limits.window:
        warnings.warn(
            f"`executor` has {count} workers, of which {limits.window} have something to do at a time: "
            f"`window` is {limits.window}; with another the answer may be another, too",
            UserWarning,
            stacklevel=5,
        )
    waiting = 0 if n_jobs else max(1, count // WAITING if limits.time_limit else count)
    crew = partial(FarCrew, team=make(problem), abreast=count + waiting)
    return replace(limits, n_jobs=count, crew=crew)
