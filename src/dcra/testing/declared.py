"""Constants that a loss declares."""

from __future__ import annotations

from math import inf

import numpy as np

from dcra.testing.subject import Subject


def positive_holds(s: Subject) -> None:
    """f >= 0."""
    if s.loss.positive:
        value = s.value(s.z)
        s.require(value >= 0, "the declared `positive`", z=s.z, value=value)


def lipschitz_holds(s: Subject) -> None:
    """|f(z) - f(w)| <= lipschitz |z - w|, row by row if separable."""
    if s.loss.lipschitz == inf:
        return
    z, w = s.z, np.roll(s.z, 1, axis=0)
    if s.loss.separable:
        rise, run = s.values(z) - s.values(w), z - w
    else:
        rise, run = s.value(z) - s.value(w), np.linalg.norm(z - w, axis=-1)
    bound = s.loss.lipschitz * np.abs(run)
    fine = np.abs(rise) <= bound + s.slack(bound)
    s.require(
        fine.reshape(len(z), -1).all(axis=-1), "the declared `lipschitz`", z=z, w=w, change=rise, bound=bound
    )


def curvature_holds(s: Subject) -> None:
    """|f(z + h) - 2 f(z) + f(z - h)| <= curvature |h|^2."""
    if s.loss.curvature == inf:
        return
    for size in (0.03, 0.3, 3.0):
        h = size * s.rng().standard_normal(s.z.shape)
        up, down = s.round(s.z + h), s.round(s.z - h)
        bend = np.abs(s.value(up) - 2 * s.value(s.z) + s.value(down))
        bound = s.loss.curvature * np.sum(((up - down) / 2) ** 2, axis=-1)
        s.require(
            bend <= bound + s.slack(bound, s.value(up)),
            "the declared `curvature`",
            z=s.z,
            h=h,
            second_difference=bend,
            bound=bound,
        )
