"""Wording shared by error messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def suggest(name: str, got: Any, allowed: Iterable[str]) -> str:
    """'`name` must be one of ...; got ...; did you mean ...?'"""
    from difflib import get_close_matches

    options = list(allowed)
    near = get_close_matches(str(got).lower(), options, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"`{name}` must be one of {', '.join(options)}; got {got!r}{hint}"


def shown(x: Any) -> str:
    """A short description of a value that is not what was wanted."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return f"dtype {dtype}"
    text = repr(x)
    return text if len(text) <= 60 else f"{type(x).__name__}"


class SolverUnavailable(ImportError):
    """A method cannot run here: its package is missing or its licence too small. The text says which."""


def missing(what: str, package: str, extra: str, error: ImportError) -> str:
    """Why an optional package cannot be used: it is not there, or it does not load beside what is loaded."""
    if isinstance(error, ModuleNotFoundError):
        return f"{what} needs {package}: pip install 'dcra[{extra}]'"
    return f"{what} needs {package}, which cannot be loaded in this process ({error}); try a new one"
