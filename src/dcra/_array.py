"""Array namespaces: the only importer of array-api-compat and array-api-extra."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from os import PathLike
from typing import Any

import array_api_compat as compat
import numpy as np

Array = Any
"""An array of any supported library; shapes are stated in docstrings."""

Host = np.ndarray[Any, Any]
"""A NumPy array."""


NUMPY = (np.ndarray, np.generic)

PIECE = 1 << 15
"""Entries of an array that a cache holds, with a few temporary ones."""


def is_array(x: object) -> bool:
    """Whether `x` belongs to a library that speaks the array API (NumPy included)."""
    return compat.is_array_api_obj(x)


def is_numpy(x: object) -> bool:
    return isinstance(x, np.ndarray)


def namespace(*arrays: Array) -> Any:
    """The array-API namespace shared by `arrays`. NumPy 2 is one itself, and finding that out is quick."""
    for x in arrays:
        if not isinstance(x, NUMPY):
            return compat.array_namespace(*arrays)
    return np


def device_of(x: Array) -> Any:
    return "cpu" if isinstance(x, np.ndarray) else compat.device(x)


def is_dask(x: object) -> bool:
    """Whether x is a lazy array of Dask."""
    return type(x).__module__.split(".")[0] == "dask"


def is_jax(x: Array) -> bool:
    """Whether `x` is an array of JAX, which by default has no float64: it is worked on as one of NumPy."""
    return not is_numpy(x) and compat.is_jax_array(x)


def is_in_parts(x: object) -> bool:
    """Whether x is a matrix in parts: a lazy array of Dask, or a list of the names of files."""
    return is_dask(x) or (
        isinstance(x, list | tuple) and bool(x) and all(isinstance(part, str | PathLike) for part in x)
    )


def is_torch(x: Array) -> bool:
    return not is_numpy(x) and compat.is_torch_array(x)


def on_accelerator(x: Array) -> bool:
    """Whether something else than the CPU works on `x`."""
    return not is_numpy(x) and (compat.is_cupy_array(x) or "cpu" not in str(device_of(x)).lower())


def to_numpy(x: Array) -> Host:
    """A host copy (or view, where that is possible) of `x`."""
    if isinstance(x, np.ndarray):
        return x
    if compat.is_torch_array(x):
        return np.asarray(x.detach().cpu().numpy())
    if compat.is_cupy_array(x):
        return np.asarray(x.get())
    if "array_api_strict" in sys.modules and type(x).__module__.startswith("array_api_strict"):
        return np.asarray(x._array)
    return np.asarray(x)


def from_numpy(x: Host, like: Array, dtype: Any = None) -> Array:
    """`x` as an array of `like`'s library, on its device, in `dtype` (default: that of `like`)."""
    dtype = like.dtype if dtype is None else dtype
    if isinstance(like, np.ndarray):
        return np.asarray(x, dtype)
    return namespace(like).asarray(x, dtype=dtype, device=device_of(like))


def in_pieces(x: Host) -> Iterator[Host]:
    """All entries of x in pieces that a cache holds, so that temporary arrays cost no memory traffic."""
    flat = x.reshape(-1)
    for begin in range(0, flat.size, PIECE):
        yield flat[begin : begin + PIECE]


def set_columns(x: Array, lo: int, hi: int, value: Array) -> Array:
    """`x` with `x[..., lo:hi]` replaced by `value`; in place where the library allows it."""
    if isinstance(x, np.ndarray):
        x[..., lo:hi] = value
        return x
    import array_api_extra as xpx

    return xpx.at(x)[..., lo:hi].set(value)
