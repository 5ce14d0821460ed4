"""The proximal map minimises what it should; envelope and slope follow from it."""

from __future__ import annotations

import numpy as np

from dcra.testing.subject import STEPS, Subject


def prox_beats_rivals(s: Subject) -> None:
    """No point near prox(z), on the line from z to it, or far away has a smaller objective."""
    rng = s.rng()
    k, rows = s.z.shape
    for step in STEPS:
        p = s.prox(s.z, step)
        best = s.prox_objective(p, s.z, step)
        away = rng.standard_normal((12, k, rows)) * np.geomspace(1e-3, 10, 12)[:, None, None]
        alone = rng.standard_normal((8, k, 1)) * np.eye(rows)[rng.integers(rows, size=(8, k))]
        line = np.linspace(-1, 2, 13)[:, None, None] * (s.z - p)
        rivals = np.concatenate([p + away, p + alone, p + line, 0 * p[None]])
        objective = s.prox_objective(rivals, s.z, step)
        nearest = np.argmin(objective, axis=0)
        least = objective[nearest, np.arange(k)]
        s.require(
            best <= least + s.slack(best),
            f"prox(z, {step}) minimises f(y) + |z - y|^2 / (2 step)",
            z=s.z,
            prox=p,
            objective=best,
            rival=rivals[nearest, np.arange(k)],
            rival_objective=least,
        )


def separable_prox_beats_grid(s: Subject) -> None:
    """Row by row, no point of a fine grid has a smaller objective."""
    if not s.loss.separable:
        return
    grid = s.round(np.linspace(-40, 40, 3201))
    values = s.values(grid)
    for step in STEPS:
        z = np.unique(s.z)
        p = s.prox(z, step)
        best = s.values(p) + (z - p) ** 2 / (2 * step)
        rivals = np.min(values + (z[:, None] - grid) ** 2 / (2 * step), axis=-1)
        s.require(
            best <= rivals + s.slack(best),
            f"prox(z, {step}) beats a grid",
            z=z,
            prox=p,
            objective=best,
            grid_objective=rivals,
        )


def slope_matches_prox(s: Subject) -> None:
    """envelope_grad = (z - prox)/step."""
    for step in STEPS:
        want = (s.z - s.prox(s.z, step)) / step
        s.close(s.slope(s.z, step), want, f"envelope_grad(z, {step}) = (z - prox)/step", z=s.z)


def envelope_lies_below_value(s: Subject) -> None:
    """The envelope is what its definition says, at most the value, and grows as the step shrinks."""
    above, name = s.value(s.z), "value"
    for step in sorted(STEPS):
        envelope = s.envelope(s.z, step)
        at_prox = s.prox_objective(s.prox(s.z, step), s.z, step)
        s.close(envelope, at_prox, f"envelope(z, {step}) is the objective at the prox", z=s.z)
        s.require(
            envelope <= above + s.slack(above),
            f"envelope(z, {step}) <= {name}",
            z=s.z,
            envelope=envelope,
            above=above,
        )
        above, name = envelope, f"envelope(z, {step})"


def slope_is_finite_difference(s: Subject) -> None:
    """0 <= env(z + h) - env(z) - <gradient, h> <= |h|^2/(2 step); convex losses only."""
    if not s.loss.convex:
        return
    direction = s.rng().standard_normal(s.z.shape)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    for step in STEPS:
        moved = s.round(s.z + s.eps ** (1 / 3) * direction)
        h = moved - s.z
        size = np.linalg.norm(h, axis=-1)
        before, after = s.envelope(s.z, step), s.envelope(moved, step)
        slope = np.sum(s.slope(s.z, step) * h, axis=-1) / size
        quotient = (after - before) / size
        rounding = s.slack(slope) + 4 * s.eps * (1 + np.abs(before)) / size
        s.require(
            np.abs(quotient - slope) <= size / (2 * step) + rounding,
            f"the gradient of envelope(., {step}) is its finite difference",
            z=s.z,
            difference=quotient,
            slope=slope,
        )
