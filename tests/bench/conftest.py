"""The toy benchmark, known by name for the length of a test."""

from __future__ import annotations

import pytest

from dcra.bench.registry import BENCHMARKS

from . import toy


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS, toy.NAME, toy.PATH)
