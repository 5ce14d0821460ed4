"""What convex losses promise."""

from __future__ import annotations

import numpy as np

from dcra.testing.subject import STEPS, Subject, host


def value_is_midpoint_convex(s: Subject) -> None:
    """f((z + w)/2) <= (f(z) + f(w))/2; convex losses only."""
    if not s.loss.convex:
        return
    for shift in (1, 2, 5):
        w = np.roll(s.z, shift, axis=0)
        middle, mean = s.value((s.z + w) / 2), (s.value(s.z) + s.value(w)) / 2
        s.require(
            middle <= mean + s.slack(mean),
            "the value is convex at midpoints (the loss is declared convex)",
            z=s.z,
            w=w,
            middle=middle,
            mean=mean,
        )


def prox_is_firmly_nonexpansive(s: Subject) -> None:
    """|p - q|^2 <= <p - q, z - w> for p = prox(z), q = prox(w); convex losses only."""
    if not s.loss.convex:
        return
    z, w = s.z, np.roll(s.z, 1, axis=0)
    for step in STEPS:
        apart = s.prox(z, step) - s.prox(w, step)
        left, right = np.sum(apart**2, axis=-1), np.sum(apart * (z - w), axis=-1)
        s.require(
            left <= right + s.slack(left),
            f"prox(., {step}) is firmly nonexpansive (the loss is declared convex)",
            z=z,
            w=w,
            squared_distance=left,
            inner_product=right,
        )


def slope_is_a_subgradient(s: Subject) -> None:
    """f(w) >= f(p) + <y, w - p> for y = (z - p)/step: what lower bounds stand on; convex losses only."""
    if not s.loss.convex:
        return
    for step in STEPS:
        p, y = s.prox(s.z, step), s.slope(s.z, step)
        for shift in (1, 3, 4):
            w = np.roll(s.z, shift, axis=0)
            low = s.value(p) + np.sum(y * (w - p), axis=-1)
            s.require(
                low <= s.value(w) + s.slack(low),
                "the envelope gradient is a subgradient at the prox (the loss is declared convex)",
                z=s.z,
                step=step,
                w=w,
                value=s.value(w),
                tangent=low,
            )


def conjugate_obeys_fenchel_young(s: Subject) -> None:
    """f(p) + f*(y) = <p, y> at y = (z - p)/step for convex losses, f(w) + f*(y) >= <w, y> for all."""
    try:
        s.loss.conjugate(s.to(s.z))
    except NotImplementedError:
        return
    for step in STEPS:
        y = s.slope(s.z, step)
        conjugate = host(s.loss.conjugate(s.to(y)))
        for w in (s.z, 0 * s.z, np.roll(s.z, 1, axis=0)):
            least = np.sum(w * y, axis=-1) - s.value(w)
            s.require(
                conjugate >= least - s.slack(least),
                "f*(y) >= <w, y> - f(w)",
                y=y,
                w=w,
                conjugate=conjugate,
                least=least,
            )
        if s.loss.convex:
            p = s.prox(s.z, step)
            want = np.sum(p * y, axis=-1) - s.value(p)
            s.close(conjugate, want, f"f(p) + f*(y) = <p, y> at p = prox(z, {step})", z=s.z, y=y)
