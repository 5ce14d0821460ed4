"""Coordinates in which samples that share labels are near."""

from __future__ import annotations

import numpy as np
import pytest

from dcra.apps import SupervisedHashing
from dcra.apps.hashing import relevance
from dcra.apps.hashing.relevance import relevance_table
from dcra.apps.hashing.starts import random_turn
from dcra.apps.hashing.targets import label_table


@pytest.fixture
def labels(rng):
    """Sets of up to 6 labels, some without any, of 400 samples."""
    return (rng.uniform(size=(400, 6)) < [0.05, 0.1, 0.2, 0.3, 0.4, 0.5]).astype(int)


def test_one_class_per_sample_stays_as_it_is(rng):
    y = rng.integers(0, 4, 50)
    _, table = label_table(y, 50)
    assert relevance_table(table) is table


def test_the_best_coordinates_of_all_samples(labels):
    """No other 6 coordinates come nearer to the roots of the numbers of shared labels."""
    _, table = label_table(labels, 400)
    E = relevance_table(table).read(0, 400)
    assert E.shape == (400, 6)
    K = np.sqrt(labels @ labels.T)
    values, vectors = np.linalg.eigh(K)
    best = (vectors[:, -6:] * values[-6:]) @ vectors[:, -6:].T
    np.testing.assert_allclose(E @ E.T, best, atol=1e-9)
    assert np.all(np.diff(np.sum(E**2, axis=0)) <= 0)


def test_landmarks_decide_for_all(labels, monkeypatch):
    _, table = label_table(labels, 400)
    K = np.sqrt(labels @ labels.T)

    def error(n_landmarks):
        monkeypatch.setattr(relevance, "LANDMARKS", n_landmarks)
        E = relevance_table(table).read(0, 400)
        return np.mean((E @ E.T - K) ** 2) / np.mean(K**2)

    assert error(3000) <= error(20) < 0.1


def test_codes_of_samples_that_share_labels_are_nearer(labels, rng):
    X = labels @ rng.normal(size=(6, 30)) + 0.1 * rng.normal(size=(400, 30))
    codes = SupervisedHashing(24, feature_map="linear", random_state=0).fit(X, labels).codes_.astype(int)
    agreement, shared = codes @ codes.T, labels @ labels.T
    assert agreement[shared > 0].mean() > 6 + agreement[shared == 0].mean()
    assert agreement[shared > 2].mean() > agreement[shared == 1].mean()


@pytest.mark.parametrize(("d", "n_bits"), [(3, 8), (8, 3), (4, 4)])
def test_random_turn(d, n_bits, rng):
    V = random_turn(d, n_bits, rng)
    assert V.shape == (d, n_bits)
    small = V.T @ V if d > n_bits else V @ V.T
    np.testing.assert_allclose(small, np.eye(min(d, n_bits)), atol=1e-12)
