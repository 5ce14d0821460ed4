"""More frames than one call should take: chunks, each decided as if it were all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.model import check_channels
from dcra.machines.dispatch import Dispatch
from dcra.machines.pickles import Cargo
from dcra.machines.teams import Team, team_for
from dcra.machines.worker import Errand
from dcra.model.checks import refuse_masked
from dcra.named import load
from dcra.result import Status
from dcra.search.checks import check_count, check_jobs
from dcra.search.interrupts import Interruption, on_interrupt
from dcra.search.threads import default_jobs
from dcra.search.workers import PATIENCE

if TYPE_CHECKING:
    from dcra.apps.mimo.detect import Detection

CHUNK = 256
"""Frames of a chunk where nothing else is asked for."""

BY_FRAME = ("symbols", "bits", "spins", "llrs")
"""Fields whose second axis are the frames."""


def detect_chunks(
    H: Any, y: Any, about: dict[str, Any], n_jobs: int | None, executor: Any, chunk: int | None, begun: float
) -> Detection:
    """`detect` in chunks; `about` are its arguments besides."""
    jobs, width = check_jobs("n_jobs", n_jobs), check_count("chunk", chunk) or CHUNK
    for name, given in (("H", H), ("y", y)):
        refuse_masked(name, given)
    channels, frames = np.asarray(H), np.asarray(y)
    check_channels(channels, frames)
    about |= {"H": channels} if channels.ndim == 2 else {}
    parts = _parts(channels, frames, width)
    with on_interrupt() as interrupted:
        found: dict[int, Detection] = {}
        if executor is not None:
            make, workers = team_for(executor)
            abreast = jobs or 2 * (workers or default_jobs())
            found = _side_by_side(parts, make(about), abreast, interrupted)
        for index, part in enumerate(parts):  # what begins after Ctrl-C ends with a first answer
            if index not in found:
                found[index] = _detect(about, part, jobs)
    return joined([found[index] for index in range(len(parts))], time.perf_counter() - begun)


def _parts(channels: Host, frames: Host, width: int) -> list[dict[str, Host]]:
    """Chunks of frames, with the channels of their own that they may have."""
    parts = []
    for lo in range(0, max(1, frames.shape[1]), width):  # of no frames there is one, which is refused
        some = slice(lo, lo + width)
        part = {"y": np.ascontiguousarray(frames[:, some])}
        parts.append(part | {"H": np.ascontiguousarray(channels[some])} if channels.ndim == 3 else part)
    return parts


def _side_by_side(
    parts: list[dict[str, Host]], team: Team, abreast: int, interrupted: Interruption
) -> dict[int, Detection]:
    """The chunks that were decided by Ctrl-C, or all of them."""
    dispatch, waiting = Dispatch(team), list(reversed(range(len(parts))))
    found: dict[int, Detection] = {}
    try:
        while (waiting or len(dispatch)) and not interrupted:
            dispatch.send_again()
            while waiting and len(dispatch) < abreast:
                index = waiting.pop()
                dispatch.send(index, FramesErrand(team.key, team.version, inf, Cargo(parts[index])))
            found |= {index: answer for index, answer, _ in dispatch.hear(PATIENCE)}
    finally:
        dispatch.close()
    return found


@dataclass(frozen=True, eq=False)
class FramesErrand(Errand):
    """Decide some frames."""

    cargo: Any

    def carry_out(self, shared: Any, over: Callable[[], bool]) -> Detection:
        return _detect(shared, self.cargo.shared, 1)


def _detect(about: dict[str, Any], part: dict[str, Host], n_jobs: int | None) -> Detection:
    found: Detection = load("dcra.apps.mimo.detect:detect")(n_jobs=n_jobs, **about, **part)
    return found


def joined(parts: list[Detection], seconds: float) -> Detection:
    """Frames side by side; what was not all proven, or not all finished, is neither."""
    worst = (Status.INTERRUPTED, Status.CONVERGED, Status.OPTIMAL)
    together: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in BY_FRAME
        if getattr(parts[0], name) is not None
    }
    together |= {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("fun", "proven")}
    status = min((part.status for part in parts), key=worst.index)
    method = ", ".join(dict.fromkeys(word for part in parts for word in part.method.split(", ")))
    assert {field.name for field in fields(parts[0])} >= together.keys()
    return replace(parts[0], **together, status=status, method=method, seconds=seconds)
