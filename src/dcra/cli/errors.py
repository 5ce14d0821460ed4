"""Bad input, in the words of the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click


class BadInput(click.ClickException):
    """Something the user can put right; one line, exit code 2."""

    exit_code = 2


@contextmanager
def bad_input() -> Iterator[None]:
    """What the library refuses is bad input; what it warns of is a line on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {message}", err=True)
            yield
    except (ValueError, TypeError, ImportError) as error:
        raise BadInput(str(error)) from error
