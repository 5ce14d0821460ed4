"""How sweeps move and how their penalty is steered: numbers that loops and array code share."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """A step along x_j of curvature L_j at penalty rho, and how rho follows the mean of x_j^2.

        x_j <- clip(x_j - slope / (kappa L_j) + momentum (x_j - before_j), -1, 1)
        slope = grad_j - 2 rho x_j (1 + shape (1 - x_j^2))

    The penalty is rho sum(t_j + shape t_j^2 / 2) with t_j = 1 - x_j^2: zero at the corners, and concave on
    the box for shape <= 1/2, so that it is exact as the plain one is. After sweep s of T rho is multiplied
    by exp((s/T)^power - mean x_j^2), but stays above `least` times where it began.
    """

    kappa: float = 0.7
    momentum: float = 0.5
    shape: float = 0.3
    power: float = 0.35
    least: float = 0.064
    patience: float = 2.0


PLAIN = Rule(kappa=0.6, momentum=0.0, shape=0.0, patience=0.0)
"""Descent: no momentum and no rest."""
