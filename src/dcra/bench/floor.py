"""What random l1 instances allow: |Ax - b|_1 with the entries of A (d, n) and b (d,) drawn from N(0, 1)."""

from __future__ import annotations

from math import exp, log, pi, sqrt

from scipy.optimize import minimize_scalar
from scipy.special import erfcx


def l1_floor(n: int, d: int) -> float:
    """The value below which, in large instances, a point almost surely does not exist.

    A residual has N(0, n+1) entries, so the expected number of x in {-1,1}^n with |Ax - b|_1 <= R is
    2^n P(sum_i |z_i| <= R). By Chernoff's bound it is less than one where, for some l > 0,

        n ln 2 + l R/s + d (ln 2 + l^2/2 + ln Phi(-l)) < 0,   s = sqrt(n+1),

    and falls exponentially below. The floor is the largest such R. The bracket is ln erfcx(l / sqrt 2).

    Examples
    --------
    >>> round(l1_floor(n=1000, d=1000))
    7731
    """
    s = sqrt(n + 1)

    def minus_floor(log_l: float) -> float:
        l = exp(log_l)
        return s * (n * log(2) + d * log(erfcx(l / sqrt(2)))) / l

    # for large l the bracket is about -ln(l sqrt(pi/2)), so the best l grows like 2^(n/d)
    best = minimize_scalar(minus_floor, bounds=(-8.0, 4.0 + n / d * log(2)), options={"xatol": 1e-9})
    return -float(best.fun)


def l1_random(n: int, d: int) -> float:
    """The mean of |Ax - b|_1 over random signs x: d sqrt(2 (n+1) / pi)."""
    return d * sqrt(2 * (n + 1) / pi)
