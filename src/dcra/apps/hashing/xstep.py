"""The X-step: for every sample its own binary problem, all with one matrix, solved as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.api import minimize_batch
from dcra.engines.base import Engine
from dcra.losses import Huber, Loss, SquaredL2
from dcra.messages import suggest
from dcra.methods import METHODS

GAIN = 1e-7
"""What a new code must gain, as a share of f(y): two codes that fit exactly differ by rounding only."""


@dataclass(frozen=True)
class XStep:
    """min f(W x - y) + nu |x - h|^2 over signs x, for many y and h.

    Parameters
    ----------
    loss : Loss
        L1, SquaredL2 or Huber.
    nu : float
    solver : str or Engine
        Any method of `dcra.minimize`; "auto" is the batched search, others take one start per problem.
    seed, n_jobs : int
    executor : dask.distributed.Client or concurrent.futures.Executor, optional
    """

    loss: Loss
    nu: float
    solver: str | Engine
    seed: int
    n_jobs: int
    executor: Any = None

    def improve(self, W: Host, Y: Host, X: Host, H: Host | None = None) -> tuple[Host, int]:
        """Codes (k, r) no worse than X for targets Y (k, d) and hash values H (k, r); how many are new."""
        now, least = self.values(W, Y, X, H), GAIN * np.asarray(self.loss.value(Y))
        unfit = np.flatnonzero(now > least)  # the objective is nowhere negative: the others cannot gain
        if unfit.size == 0:
            return X, 0
        found, values = self._solve(W, Y[unfit], None if H is None else H[unfit])
        better = values < (now - least)[unfit]
        new = X.copy()
        new[unfit[better]] = found[better]
        return new, int(np.sum(better))

    def _solve(self, W: Host, Y: Host, H: Host | None) -> tuple[Host, Host]:
        """Codes and their values."""
        A, B, weights = self.template(W, Y, H)
        starts = None if self.solver == "auto" else 1
        options: dict[str, Any] = {"method": self.solver, "seed": self.seed, "n_jobs": self.n_jobs}
        if self.executor is not None:
            options |= {"executor": self.executor, "n_jobs": None}
        result = minimize_batch(A, B.T, self.loss, weights=weights, starts=starts, **options)
        found = np.asarray(result.x).T.astype(np.int8)
        return found, self.values(W, Y, found, H)

    def template(self, W: Host, Y: Host, H: Host | None) -> tuple[Host, Host, Host | None]:
        """A, right-hand sides as rows, and row weights of f(A x - b).

        |x - h|^2 is linear in signs x, and so are further rows of f with which it can be expressed exactly:
        w|x - g| = w(1 - g x) for |g| <= 1, and the part of Huber's function that is a square.
        """
        if H is None:
            return W, Y, None
        d, r = W.shape
        reach = max(float(np.abs(H).max()), 1e-12)
        if isinstance(self.loss, SquaredL2):
            scale, weight, G = 1.0, self.nu, H
        elif isinstance(self.loss, Huber):
            scale = self.loss.threshold / (1 + reach)
            weight, G = 2 * self.nu / scale**2, scale * H
        else:
            scale, weight, G = 1.0, 2 * self.nu * reach, H / reach
        weights = np.concatenate([np.ones(d), np.full(r, weight)])
        return np.vstack([W, scale * np.eye(r)]), np.hstack([Y, G]), weights

    def values(self, W: Host, Y: Host, X: Host, H: Host | None) -> Host:
        """The objective of every column, (k,)."""
        X = X.astype(np.float64)
        fit: Host = np.asarray(self.loss.value(X @ W.T - Y))
        return fit if H is None else fit + self.nu * np.sum((X - H) ** 2, axis=1)


def check_solver(solver: Any) -> None:
    if not isinstance(solver, Engine) and solver not in METHODS:
        raise ValueError(suggest("solver", solver, METHODS))
