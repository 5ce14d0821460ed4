"""What the tests themselves do where there are no compiled loops."""

import pytest

from dcra._kernels import library

from .conftest import wants_loops

WHY = "there was no compiler"


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(library, "why_not", lambda: WHY)


def chained():
    try:
        raise ImportError(WHY)
    except ImportError:
        try:
            raise AssertionError("it did not match")
        except AssertionError as error:
            return error


@pytest.mark.parametrize("error", [ImportError(WHY), ValueError(f"method needs loops ({WHY})"), chained()])
def test_only_what_wants_the_loops_is_skipped(without, error):
    assert wants_loops(error)
    assert not wants_loops(AssertionError("1 == 2"))


def test_nothing_is_skipped_where_they_are(monkeypatch):
    monkeypatch.setattr(library, "why_not", lambda: "")
    assert not wants_loops(ImportError(WHY))
    assert not wants_loops(ValueError(""))
