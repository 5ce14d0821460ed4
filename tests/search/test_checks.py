"""Limits and seeds: what is accepted, and every message."""

from __future__ import annotations

import re
from math import inf, nan

import numpy as np
import pytest

import dcra
from dcra.search.checks import check_callable, check_count, check_seconds, check_seed, check_target


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int8(3), np.float64(1e-9)])
def test_seconds(value):
    seconds = check_seconds("time_limit", value)
    assert type(seconds) is float
    assert seconds == value


@pytest.mark.parametrize("value", [0, -1.5, np.float64(0), inf, -inf, nan, np.float32("nan")])
def test_seconds_that_are_not_positive_and_finite(value):
    with pytest.raises(ValueError, match=re.escape(f"`limit` must be positive and finite; got {value!r}")):
        check_seconds("limit", value)


@pytest.mark.parametrize("value", [True, np.True_, "3", [1], np.ones(1), 1j, np.complex128(1), object])
def test_seconds_that_are_no_number(value):
    with pytest.raises(TypeError, match=re.escape(f"`limit` must be a number of seconds; got {value!r}")):
        check_seconds("limit", value)


@pytest.mark.parametrize("value", [0, -3, 1.5, inf, -inf, np.float32(0.25), np.int64(-2)])
def test_targets(value):
    target = check_target(value)
    assert type(target) is float
    assert target == value


@pytest.mark.parametrize("value", [True, "3", [1], nan, np.float32("nan"), 1j, np.complex64(2)])
def test_targets_that_are_no_number(value):
    with pytest.raises(TypeError, match=re.escape(f"`target` must be a number; got {value!r}")):
        check_target(value)


@pytest.mark.parametrize("value", [1, 10**30, np.int8(3), np.uint64(7)])
def test_counts(value):
    count = check_count("starts", value)
    assert type(count) is int
    assert count == value


@pytest.mark.parametrize("value", [1.0, True, np.True_, "3", np.float64(2), [1]])
def test_counts_that_are_no_integer(value):
    with pytest.raises(TypeError, match=re.escape(f"`n_jobs` must be an integer; got {value!r}")):
        check_count("n_jobs", value)


@pytest.mark.parametrize("value", [0, -1, np.int64(-7)])
def test_counts_below_one(value):
    with pytest.raises(ValueError, match=f"`starts` must be at least 1; got {value}"):
        check_count("starts", value)


@pytest.mark.parametrize("value", [0, 2**70, np.uint32(9)])
def test_seeds(value):
    seed = check_seed(value)
    assert type(seed) is int
    assert seed == value


@pytest.mark.parametrize("value", [None, 1.0, True, "3", np.random.default_rng(0)])
def test_seeds_that_are_no_integer(value):
    with pytest.raises(TypeError, match=re.escape(f"`seed` must be an integer; got {value!r}")):
        check_seed(value)


def test_seeds_below_zero():
    with pytest.raises(ValueError, match="`seed` must not be negative; got -1"):
        check_seed(-1)


def test_nothing_is_nothing():
    assert check_seconds("time_limit", None) is None
    assert check_target(None) is None
    assert check_count("starts", None) is None
    assert check_callable(None) is None


def test_callables():
    assert check_callable(print) is print
    with pytest.raises(TypeError, match="`callback` must be callable; got int"):
        check_callable(3)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"time_limit": 0}, ValueError, "`time_limit` must be positive"),
        ({"starts": 0}, ValueError, "`starts` must be at least 1"),
        ({"n_jobs": 1.5}, TypeError, "`n_jobs` must be an integer"),
        ({"target": "low"}, TypeError, "`target` must be a number"),
        ({"seed": -3}, ValueError, "`seed` must not be negative"),
        ({"callback": 1}, TypeError, "`callback` must be callable"),
    ],
)
def test_they_are_asked_by_solve(options, error, match):
    with pytest.raises(error, match=match):
        dcra.minimize(np.eye(2), [1.0, -1.0], **options)
