"""The linear hash function: ridge regression from features to codes."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dcra._array import Host


class Ridge:
    """argmin_P |X - Phi P|^2 + penalty |P|^2 for changing codes X, from Phi'Phi and Phi'X alone."""

    def __init__(self, gram: Host, penalty: float) -> None:
        self.gram, self.penalty = gram, penalty
        self.factor = cho_factor(gram + penalty * np.eye(len(gram)))

    def solve(self, cross: Host) -> Host:
        """P (m, r) for Phi'X (m, r)."""
        P: Host = cho_solve(self.factor, cross)
        return P

    def value(self, P: Host, cross: Host, n: int) -> float:
        """|X - Phi P|^2 + penalty |P|^2 for signs X of n samples."""
        fit = np.sum(P * (self.gram @ P)) - 2 * np.sum(P * cross) + n * P.shape[1]
        return float(fit + self.penalty * np.sum(P * P))


def signs(values: Host) -> Host:
    """-1 and 1 as int8; zero counts as positive."""
    return np.where(values >= 0, np.int8(1), np.int8(-1))
