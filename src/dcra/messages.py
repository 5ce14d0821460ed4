"""Wording shared by error messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

Taken = ParamSpec("Taken")
Returned = TypeVar("Returned")

STATED = {
    part: f"the problem: `problem.replace({part}=...)`"
    for part in ("terms", "linear", "quadratic", "constant", "domain", "constraints")
} | dict.fromkeys(
    ("A", "b", "loss", "weight", "weights"),
    "a term of the problem: `problem.replace(terms=[dcra.Term(loss, A, b, weight)])`",
)
"""Where the parts of a problem are stated."""


def suggest(name: str, got: Any, allowed: Iterable[str]) -> str:
    """'`name` must be one of ...; got ...; did you mean ...?'"""
    options = list(allowed)
    near = nearest(str(got).lower(), options)
    hint = f"; did you mean {near!r}?" if near else ""
    return f"`{name}` must be one of {', '.join(options)}; got {got!r}{hint}"


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(allowed), n=1)), None)


def checked_keywords(call: Callable[Taken, Returned]) -> Callable[Taken, Returned]:
    """The same call; a keyword that it does not take is refused with the one that was meant."""
    name = call.__qualname__.removesuffix(".__init__")
    known = tuple(one for one in signature(call).parameters if one != "self")

    @wraps(call)
    def checked(*args: Taken.args, **given: Taken.kwargs) -> Returned:
        for keyword in given:
            if keyword not in known:
                raise TypeError(_unknown(name, keyword, known))
        return call(*args, **given)

    return checked


def _unknown(call: str, keyword: str, known: tuple[str, ...]) -> str:
    if "problem" in known and keyword in STATED:
        return f"`{call}` takes no `{keyword}`; it belongs to {STATED[keyword]}"
    near = nearest(keyword, known)
    hint = f"; did you mean `{near}`?" if near else ""
    return f"`{call}` takes {', '.join(known)}; got `{keyword}`{hint}"


@contextmanager
def renamed(name: str, own: str) -> Iterator[None]:
    """Complaints about `name` inside are about what the caller knows as `own`."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        if text.startswith(f"`{name}` "):
            error.args = (re.sub(rf"\b{name}\b", own, text),)
        raise


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
