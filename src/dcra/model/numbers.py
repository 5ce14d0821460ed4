"""Arrays that hold no real numbers, or not only finite ones: where the first fault is, and the way out."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

import numpy as np

from dcra._array import Host, is_array, is_numpy
from dcra.foreign import is_sparse
from dcra.messages import shown

LOOKED_AT = 1 << 20
"""Entries of text and objects that are looked at for the first that is no number."""


def as_numbers(name: str, x: Any) -> Host:
    """`x` as a NumPy array of numbers, which may be complex."""
    try:
        array = np.asarray(x)
    except ValueError as error:
        if not isinstance(x, list | tuple):
            raise
        raise ValueError(f"`{name}` must have rows of one length{_lengths(x)}") from error
    if array.dtype.kind not in "fiubc":
        raise no_numbers(name, x)
    return array


def no_numbers(name: str, x: Any) -> TypeError:
    """The complaint about an array that does not hold real numbers."""
    if is_sparse(x):
        return TypeError(
            f"`{name}` must be dense; got a scipy.sparse matrix of shape {x.shape}. "
            f"Write `{name}.toarray().ravel()`"
        )
    if is_array(x) and not is_numpy(x):
        return TypeError(f"`{name}` must hold real numbers; got {shown(x)}")
    host = np.asarray(x)
    got = f"dtype {host.dtype}" if host.ndim else shown(x)
    return TypeError(f"`{name}` must hold real numbers; got {got}{_way_out(x, host)}")


def not_finite(name: str, index: tuple[int, ...], value: float) -> ValueError:
    """The complaint about a number that is none, or infinite."""
    return ValueError(
        f"`{name}` must be finite; {spot(index)} is {value:g}. Give it a value, or leave it out"
    )


def spot(index: tuple[int, ...]) -> str:
    """The place of an entry, in words."""
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]} (from 0)"
    return f"entry {', '.join(map(str, index))} (from 0)"


def first_fault(host: Host) -> tuple[tuple[int, ...], Any] | None:
    """The first entry of text or objects that no float can be made of."""
    for index, value in islice(np.ndenumerate(host), LOOKED_AT):
        try:
            float(value)
        except (TypeError, ValueError):
            return index, value.item() if isinstance(value, np.generic) else value
    return None


def _way_out(x: Any, host: Host) -> str:
    if host.ndim == 0:
        file = isinstance(x, str | os.PathLike) and os.path.splitext(x)[1]
        return ". A file is read by `dcra.io.read` or `numpy.loadtxt`" if file else ""
    if host.dtype.kind not in "OUS":
        return ""
    fault = first_fault(host)
    if fault is None:
        call = "to_numpy(float)" if hasattr(x, "to_numpy") else "numpy.asarray(..., float)"
        return f". `{call}` makes numbers of it"
    index, value = fault
    columns = getattr(x, "columns", None)
    named = "" if columns is None or len(index) != 2 else f", of column {columns[index[1]]!r},"
    return f"; {spot(index)}{named} is {shown(value)}. Make a number of it, or leave it out"


def _lengths(x: list[Any] | tuple[Any, ...]) -> str:
    """The first two rows whose lengths differ."""
    sizes = [len(row) if hasattr(row, "__len__") else 1 for row in x]
    odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    return "" if odd is None else f"; got {sizes[0]} in row 0, {sizes[odd]} in row {odd} (from 0)"
