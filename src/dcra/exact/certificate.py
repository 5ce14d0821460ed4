"""A proof that others can check: what was concluded at which node of a tree, from which slopes.

    events   (k, 4)  [kind, node, variable, slopes or first child], in the order in which they came
    ends     (s, r)  slopes: 1 at the upper end of their row, -1 at the lower, 0 at none
    values           those at no end, row by row
    cutoff           what the tree shows no point to fall below, in units of the form
    point    (n,)    the best point
    mesh     (t,)    of each term: the first slope of the tangents of a curved loss
    problem, sum     SHA-256 of the sum of kinks, and of all the rest

Kinds are 0 and 1 (the variable is fixed at its lower or upper end: with the other one the slopes give a bound
that reaches the cutoff), 2 (so they do for the whole node), 3 (two children, the variable at its lower end in
the first), 4 (everything is fixed: a point).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from dcra._array import Host
from dcra._kernels.branching import Event
from dcra.exact.kinks import KinkForm

VERSION = 1
SHAPES = {"events": 2, "ends": 2, "values": 1, "cutoff": 0, "point": 1, "mesh": 1}
WORDS = ("problem", "sum", "version")
INTEGERS = {"events": np.int64, "ends": np.int8, "point": np.int8}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof, of a form that is known by its digest or as it is."""

    events: Host
    ends: Host
    values: Host
    cutoff: float
    point: Host
    mesh: Host
    about: str | KinkForm

    @property
    def problem(self) -> str:
        """The digest of the form that it speaks of."""
        return self.about if isinstance(self.about, str) else form_digest(self.about)

    @property
    def rests_on(self) -> str:
        """What its conclusions are drawn from, in words."""
        return f"{len(self.ends)} slopes"

    def arrays(self) -> dict[str, Any]:
        """Everything by name, as it is written to a file."""
        own = self._own()
        return own | {"sum": np.array(digest(own.values())), "version": np.array(VERSION)}

    def _own(self) -> dict[str, Host]:
        return {
            "events": self.events.astype(np.int64),
            "ends": self.ends.astype(np.int8),
            "values": self.values.astype(np.float64),
            "cutoff": np.array(self.cutoff, np.float64),
            "point": self.point.astype(np.int8),
            "mesh": self.mesh.astype(np.float64),
            "problem": np.array(self.problem),
        }

    def slopes(self, form: KinkForm) -> Host:
        """All slopes, (s, r)."""
        Y = np.where(self.ends > 0, form.hi, form.lo)
        Y[self.ends == 0] = self.values
        return Y


def form_digest(form: KinkForm) -> str:
    """What a proof is bound to: all numbers of the sum of kinks."""
    numbers = np.array([form.unit, form.constant, form.low, form.high, form.n_hard])
    return digest([form.A, form.b, form.lo, form.hi, form.c, form.scale, numbers])


def from_arrays(arrays: Mapping[str, Host]) -> Certificate:
    """The proof that arrays of a file hold; a ValueError says what is wrong with them."""
    missing = [name for name in (*SHAPES, *WORDS) if name not in arrays]
    if missing:
        raise ValueError(f"not a proof: `{missing[0]}` is missing")
    if str(arrays["version"]) != str(VERSION):
        raise ValueError(f"the proof is of version {arrays['version']}; this is {VERSION}")
    for name, ndim in SHAPES.items():
        if arrays[name].ndim != ndim or arrays[name].dtype != INTEGERS.get(name, np.float64):
            raise ValueError(f"the proof is damaged: `{name}` is {arrays[name].dtype}{arrays[name].shape}")
    found = Certificate(
        arrays["events"],
        arrays["ends"],
        arrays["values"],
        float(arrays["cutoff"]),
        arrays["point"],
        arrays["mesh"],
        str(arrays["problem"]),
    )
    if str(found.arrays()["sum"]) != str(arrays["sum"]):
        raise ValueError("the proof is damaged: its sum is not that of its parts")
    _check_parts(found)
    return found


def _check_parts(found: Certificate) -> None:
    events, ends = found.events, found.ends
    if events.shape[1] != 4 or not np.all(np.isin(ends, (-1, 0, 1))):
        raise ValueError("the proof is damaged: `events` must have four columns, `ends` hold -1, 0 and 1")
    if found.values.size != np.count_nonzero(ends == 0) or not np.all(np.isfinite(found.values)):
        raise ValueError("the proof is damaged: `values` are not those of the slopes at no end")
    if not np.isfinite(found.cutoff) or not np.all((found.mesh >= 0) & (found.mesh < np.inf)):
        raise ValueError("the proof is damaged: `cutoff` or `mesh` is no number")
    resting = np.isin(events[:, 0], (Event.TO_LOW, Event.TO_HIGH, Event.LEAF))
    if np.any((events[resting, 3] < 0) | (events[resting, 3] >= len(ends))):
        raise ValueError("the proof is damaged: it rests on slopes that are not there")


def digest(parts: Any) -> str:
    """SHA-256 of arrays, one after the other."""
    total = sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()
