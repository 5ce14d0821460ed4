"""A pool of solutions: what is asked for, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Array, Host, to_numpy
from dcra.messages import shown


@dataclass(frozen=True)
class Pool:
    """What a solve is asked for: `size` points, of which any two differ in at least `distance` variables.

    Best first: each is the best of the points met that is far enough from all before it.

    Parameters
    ----------
    size : int
        How many points are kept at most.
    distance : int
        In how many variables any two of them differ at least; at most the number of variables.

    Examples
    --------
    >>> import numpy as np
    >>> import dcra
    >>> result = dcra.minimize(np.eye(3), [0.5, 0.3, 0.2], pool=dcra.Pool(2, distance=2), seed=0)
    >>> result.pool.points
    array([[ 1.,  1.,  1.],
           [ 1., -1., -1.]])
    """

    size: int = 10
    distance: int = 1

    def __post_init__(self) -> None:
        for name in ("size", "distance"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise TypeError(f"`{name}` of a pool must be an integer; got {shown(value)}")
            if value < 1:
                raise ValueError(f"`{name}` of a pool must be at least 1; got {value}")
            object.__setattr__(self, name, int(value))


def as_pool(asked: Any, n: int | None = None) -> Pool | None:
    """`pool` as users give it: None, a size, or a `Pool`; of points in `n` variables, where that is known."""
    if asked is None:
        return None
    if isinstance(asked, Pool):
        if n is not None and asked.distance > max(1, n):
            raise ValueError(
                f"`distance` must be at most {max(1, n)}, the number of variables; got {asked.distance}"
            )
        return asked
    if isinstance(asked, bool) or not isinstance(asked, int | np.integer):
        raise TypeError(f"`pool` must be a number of points or a dcra.Pool; got {shown(asked)}")
    if asked < 1:
        raise ValueError(f"`pool` must be at least 1; got {asked}")
    return Pool(int(asked))


def far_enough(points: Host, asked: Pool) -> list[int]:
    """Which points (k, n), given best first, a pool takes: each that is far from all that it took before."""
    open_ = np.ones(len(points), bool)
    chosen: list[int] = []
    while len(chosen) < asked.size and open_.any():
        chosen.append(int(np.argmax(open_)))
        open_ &= np.count_nonzero(points != points[chosen[-1]], axis=1) >= asked.distance
    return chosen


@dataclass(frozen=True, eq=False)
class Solutions:
    """Points of a pool, best first.

    Attributes
    ----------
    points : (k, n) array
        In the domain, library and float type of `Result.x`.
    values : (k,) array
        Their objectives, in float64.
    proven : bool
        Whether no others are better: every point was looked at, or each was proven to be the next.
    asked : int, optional
        How many points were asked for.
    """

    points: Array
    values: Host
    proven: bool = False
    asked: int | None = None

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def distances(self) -> Host:
        """(k, k): in how many variables two points differ."""
        x = to_numpy(self.points)
        return np.asarray((x[:, None, :] != x[None, :, :]).sum(axis=-1))

    def __str__(self) -> str:
        if not len(self):
            return "no point"
        count = f"{len(self)} point{'s' if len(self) != 1 else ''}"
        if self.asked is not None and len(self) < self.asked:
            count = f"{len(self)} of the {self.asked} points asked for"
        best, worst = (f"{value + 0.0:.10g}" for value in (self.values[0], self.values[-1]))
        return f"{count}, {best} to {worst}" + (", proven" if self.proven else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "x": to_numpy(self.points).astype(int).tolist(),
            "fun": self.values.tolist(),
            "distances": self.distances.tolist(),
            "proven": self.proven,
        }
