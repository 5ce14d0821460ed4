"""What a recovery returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dcra._array import Host
from dcra.losses import Loss
from dcra.result import Status


@dataclass(frozen=True, eq=False)
class Recovery:
    """A signal in {0,1}^N and how well it explains the measurements.

    Attributes
    ----------
    x : (N,) array
    residual : (M,) array
        A x - y.
    rows_matched : int
        Measurements whose residual is zero up to the rounding of y.
    matched : bool
        Whether all of them are.
    objective, lower_bound : float
        f(Ax - y) + lam e'x, and what no point of {0,1}^N falls below.
    loss, lam
        f and lam, as given or as chosen from the data.
    noise : float
        Standard deviation of the measurements' error: as given, 0 when matched, else estimated.
    status : Status
        Why the search ended.
    n_starts, seconds, seed
        Starts taken to local answers, wall-clock time, and the seed that gives the same answer again.
    method : str
        The stages that were run, in their order: "messages", "flip", "auto".
    """

    x: Host = field(repr=False)
    residual: Host = field(repr=False)
    rows_matched: int
    objective: float
    lower_bound: float
    loss: Loss
    lam: float
    noise: float
    status: Status
    n_starts: int
    seconds: float
    seed: int
    method: str

    @property
    def matched(self) -> bool:
        """Whether all measurements are matched, up to rounding."""
        return self.rows_matched == self.residual.size

    @property
    def support(self) -> Host:
        """Indices of the ones."""
        return np.flatnonzero(self.x)

    @property
    def message(self) -> str:
        """What was reached, in a sentence."""
        if self.matched:
            return "the measurements are matched exactly"
        if 2 * self.rows_matched > self.residual.size:
            return f"{self.rows_matched} of {self.residual.size} measurements are matched exactly"
        if self.noise > 0:
            return f"the measurements are not matched exactly, but up to noise of about {self.noise:.3g}"
        return "the measurements are NOT matched: this is the best x found, not the signal"

    def __str__(self) -> str:
        share = self.support.size / self.x.size
        rows = {
            "measurements": self.message,
            "ones": f"{self.support.size} of {self.x.size} ({share:.1%})",
            "largest error": f"{np.max(np.abs(self.residual)):.3g}",
            "objective": f"{self.objective:.8g}  ({type(self.loss).__name__}, lam {self.lam:.3g})",
            "lower bound": f"{self.lower_bound:.8g}",
            "work": f"{self.n_starts} starts, {self.seconds:.3g} s, seed {self.seed}",
            "method": self.method,
        }
        return "\n".join(f"{name:>14}  {text}" for name, text in rows.items())


@dataclass(frozen=True, eq=False)
class Recoveries:
    """One `Recovery` per column of Y, and their parts as arrays."""

    each: tuple[Recovery, ...]
    seconds: float

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, i: int) -> Recovery:
        return self.each[i]

    def __iter__(self) -> Iterator[Recovery]:
        return iter(self.each)

    @property
    def x(self) -> Host:
        """(N, k)."""
        return np.stack([one.x for one in self.each], axis=1)

    @property
    def matched(self) -> Host:
        """(k,) array: whether all measurements of each signal are matched."""
        return np.array([one.matched for one in self.each])

    @property
    def objective(self) -> Host:
        """(k,) array: the objective of each signal."""
        return np.array([one.objective for one in self.each])

    def __str__(self) -> str:
        matched = int(self.matched.sum())
        return f"{matched} of {len(self)} measurement vectors matched exactly, {self.seconds:.3g} s"
