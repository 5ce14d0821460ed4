"""Expectation propagation: a Gaussian whose moments agree, level by level, with the discrete posterior."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.model import Received

ITERATIONS, DAMPING, LEAST_VARIANCE = 12, 0.7, 1e-4


def expectation_propagation(model: Received) -> Host:
    """Round the marginals of `ep_marginals`."""
    choices = _choices(model)
    return np.stack([choices[np.argmax(P, axis=-1)] for P in ep_marginals(model)])


def ep_marginals(model: Received) -> Host:
    """Probabilities (k, n, q) of the levels.

    exp(-(u'Gu - 2h'u)/noise) times one factor exp(gamma u - lambda u^2/2) for each unknown, set so that the
    Gaussian marginal has the mean and the variance of the cavity confined to the levels.
    """
    choices, noise = _choices(model), model.noise_or_guess
    precision, field = 2 * model.G / noise, 2 * model.h / noise
    return np.stack([_one(precision, b, choices) for b in field])


def _one(precision: Host, field: Host, choices: Host) -> Host:
    n = field.size
    lam, gamma = np.full(n, 1 / np.mean(choices**2)), np.zeros(n)
    for iteration in range(ITERATIONS):
        covariance = np.linalg.inv(precision + np.diag(lam))
        mean, variance = covariance @ (field + gamma), np.diag(covariance)
        cavity = variance / np.maximum(1 - variance * lam, 1e-9)
        centre = cavity * (mean / variance - gamma)
        P = _confined(choices, centre[:, None], cavity[:, None])
        if iteration == ITERATIONS - 1:
            break
        m = P @ choices
        v = np.maximum(P @ choices**2 - m**2, LEAST_VARIANCE)
        new_lam, new_gamma = 1 / v - 1 / cavity, m / v - centre / cavity
        keep = new_lam > 0
        lam = np.where(keep, DAMPING * new_lam + (1 - DAMPING) * lam, lam)
        gamma = np.where(keep, DAMPING * new_gamma + (1 - DAMPING) * gamma, gamma)
    return np.asarray(P)


def _confined(choices: Host, centre: Host, variance: Host) -> Host:
    """Probabilities of the levels under Gaussians."""
    distance = (choices - centre) ** 2 / (2 * variance)
    P = np.exp(distance.min(axis=1, keepdims=True) - distance)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _choices(model: Received) -> Host:
    return model.constellation.choices
