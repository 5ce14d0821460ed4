"""One row's loss: value f(z) and smoothed gradient g(z), as scalar functions of the table's numbers.

The table family is k g^2/2 + e|g| on [lo, hi] in the conjugate, with lo <= 0 <= hi wherever e > 0, so
f(z) = h(s), s = soft(z, e), and h(s) = max(lo s, hi s) when k = 0.
"""

import math

from .jit import inline


@inline
def clip(v, lo, hi):
    return min(max(v, lo), hi)


@inline
def table_grad(z, slope, e, lo, hi):
    return clip((z - clip(z, -e, e)) * slope, lo, hi)


@inline
def sharp_value(z, e, lo, hi):
    s = z - clip(z, -e, e)
    return max(lo * s, hi * s)


@inline
def curved_value(z, half_k, slope, e, lo, hi):
    s = z - clip(z, -e, e)
    g = clip(s * slope, lo, hi)
    return g * (s - half_k * g)


@inline
def logistic_grad(z, a, s):
    return s * a / (type(z)(1) + math.exp(-a * z))


@inline
def logistic_value(z, a, s):
    v = a * z
    return s * (max(v, type(z)(0)) + math.log1p(math.exp(-abs(v))))


@inline
def capped_edge(slope, reach, hi):
    """Where the envelope of hi min(|z|, reach) becomes flat."""
    soft = reach + hi / (slope + slope)
    return soft if hi <= slope * soft else math.sqrt((reach + reach) * hi / slope)


@inline
def capped_grad(z, slope, edge, lo, hi):
    return clip(z * slope, lo, hi) if abs(z) < edge else type(z)(0)


@inline
def capped_value(z, reach, hi):
    return hi * min(abs(z), reach)
