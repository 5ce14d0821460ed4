"""A proof about couplings alone that others can check: how points were divided, and multipliers for each.

Spins are z = (1, s), s those of the variables; spin 0 is the one that linear costs are coupled to.

    events     (k, 6)  [kind, node, i, j, sign, multipliers or first child], in the order in which they came
    y          (d, n+1)  multipliers of the spins
    sets       (d,)    which set of triangles goes with them
    ends       (s+1,)  where sets begin and end
    merged     (s, n+1)  what is added to the multipliers for spins that had become one, which may be much
                       larger than they are
    triangles  (t, 4)  [i, j, k, kind]: a z_i z_j + b z_i z_k + c z_j z_k >= -1, where abc = 1; kind 0 has
                       all signs 1; 1, 2 and 3 keep that of ij, ik and jk and turn the two others
    prices     (t,)    of the triangles, none below 0
    unit               of y and of prices, a power of two
    bound              what no point falls below
    point      (n,)    the best point
    problem, sum       SHA-256 of the problem's numbers, and of all the rest

Kinds are 0 (z_i = sign z_j: with the other sign the multipliers give a bound that reaches the stated one), 1
(two children, z_i = sign z_j in the first), 2 (the multipliers give such a bound for the whole node), 3 (so
few spins are left that all points are looked at).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import frexp, inf
from typing import Any

import numpy as np

from dcra._array import Host, to_numpy
from dcra.exact.certificate import Certificate, digest
from dcra.model.problem import Problem

VERSION = 1
PARTS = {
    "events": (2, np.int64),
    "y": (2, np.float64),
    "sets": (1, np.int64),
    "ends": (1, np.int64),
    "merged": (2, np.float64),
    "triangles": (2, np.int32),
    "prices": (1, np.float64),
    "unit": (0, np.float64),
    "bound": (0, np.float64),
    "point": (1, np.int8),
}
"""Dimensions and types."""


class PairEvent(IntEnum):
    """What is concluded at a node."""

    MERGE = 0
    BRANCH = 1
    LEAF = 2
    POINTS = 3


@dataclass(frozen=True, eq=False)
class PairCertificate:
    """A proof about a problem that is known by its digest."""

    events: Host
    y: Host
    sets: Host
    ends: Host
    merged: Host
    triangles: Host
    prices: Host
    unit: float
    bound: float
    point: Host
    problem: str

    @property
    def rests_on(self) -> str:
        """What its conclusions are drawn from, in words."""
        return f"{len(self.y)} sets of multipliers, {len(self.triangles)} triangles"

    def arrays(self) -> dict[str, Any]:
        """Everything by name, as it is written to a file."""
        own = {name: np.asarray(getattr(self, name), kind) for name, (_, kind) in PARTS.items()}
        own["problem"] = np.array(self.problem)
        return own | {"sum": np.array(digest(own.values())), "version": np.array(VERSION)}


AnyCertificate = Certificate | PairCertificate


def couplings_digest(problem: Problem) -> str:
    """What a proof is bound to: all numbers of a problem that is couplings alone."""
    quadratic = problem.quadratic
    assert quadratic is not None
    Q = np.asarray(to_numpy(quadratic.operator.dense()), np.float64)
    c = np.zeros(problem.n) if problem.linear is None else to_numpy(problem.linear).astype(np.float64)
    return digest([Q + 0.0, c + 0.0, np.array(problem.constant, np.float64), np.array(problem.domain)])


def pairs_from_arrays(arrays: Mapping[str, Host]) -> PairCertificate:
    """The proof that arrays of a file hold; a ValueError says what is wrong with them."""
    missing = [name for name in (*PARTS, "problem", "sum", "version") if name not in arrays]
    if missing:
        raise ValueError(f"not a proof: `{missing[0]}` is missing")
    if str(arrays["version"]) != str(VERSION):
        raise ValueError(f"the proof is of version {arrays['version']}; this is {VERSION}")
    for name, (ndim, kind) in PARTS.items():
        if arrays[name].ndim != ndim or arrays[name].dtype != kind:
            raise ValueError(f"the proof is damaged: `{name}` is {arrays[name].dtype}{arrays[name].shape}")
    parts: dict[str, Any] = {name: arrays[name] for name in PARTS}
    parts |= {"unit": float(arrays["unit"]), "bound": float(arrays["bound"])}
    found = PairCertificate(**parts, problem=str(arrays["problem"]))
    if str(found.arrays()["sum"]) != str(arrays["sum"]):
        raise ValueError("the proof is damaged: its sum is not that of its parts")
    return found


def check_parts(proof: PairCertificate, n: int) -> str:
    """What is wrong with the parts of a proof about n variables, by themselves; empty where nothing is."""
    d, t, spins = len(proof.y), len(proof.triangles), proof.triangles[:, :3]
    if proof.y.shape[1:] != (n + 1,) or proof.point.shape != (n,) or proof.events.shape[1:] != (6,):
        return f"it must have multipliers for {n + 1} spins, a point of {n} variables, events of six numbers"
    if not np.all(np.abs(proof.point) == 1):
        return "its point must have the values -1 and 1"
    sets, ends = proof.sets, proof.ends
    if proof.merged.shape != (ends.size - 1, n + 1):
        return f"each set of triangles must have {n + 1} numbers for spins that are one"
    rising = ends.size and ends[0] == 0 and ends[-1] == t and np.all(np.diff(ends) >= 0)
    if not rising or sets.shape != (d,) or np.any((sets < 0) | (sets >= ends.size - 1)):
        return "its multipliers must name sets of triangles that are there"
    shaped = proof.triangles.shape[1:] == (4,) and proof.prices.shape == (t,)
    if not shaped or np.any((spins < 0) | (spins > n)) or np.any((proof.triangles[:, 3] >> 2) != 0):
        return "its triangles must have three spins, a kind from 0 to 3 and a price each"
    numbers = np.concatenate([proof.y, proof.merged])
    if not np.all((proof.prices >= 0) & (proof.prices < inf)) or not np.all(np.isfinite(numbers)):
        return "its prices must not be below 0, and all multipliers must be numbers"
    if not 0 < proof.unit < inf or frexp(proof.unit)[0] != 0.5 or not np.isfinite(proof.bound):
        return "its unit must be a power of two, and its bound a number"
    return ""
