"""What limits and seeds must be, with the errors that say so."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np


def check_seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not _is_real(value):
        raise TypeError(f"`{name}` must be a number of seconds; got {value!r}")
    if not 0 < value < inf:
        raise ValueError(f"`{name}` must be positive and finite; got {value!r}")
    return float(value)


def check_target(value: Any) -> float | None:
    if value is None:
        return None
    if not _is_real(value) or np.isnan(value):
        raise TypeError(f"`target` must be a number; got {value!r}")
    return float(value)


def check_count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an integer; got {value!r}")
    if value < 1:
        raise ValueError(f"`{name}` must be at least 1; got {value}")
    return int(value)


def check_jobs(name: str, value: Any) -> int | None:
    """A number of threads; None for all cores, which -1 means, too."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value == -1:
        return None
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value < 1:
        raise ValueError(f"`{name}` must be at least 1, or -1 for all cores; got {value}")
    return check_count(name, value)


def check_gap(value: Any) -> float | None:
    if value is None:
        return None
    if not _is_real(value):
        raise TypeError(f"`gap` must be a number, a share of the objective; got {value!r}")
    if not 0 <= value < inf:
        raise ValueError(f"`gap` must be a share of the objective, at least 0 and finite; got {value!r}")
    return float(value)


def check_seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`seed` must be an integer; got {value!r}")
    if value < 0:
        raise ValueError(f"`seed` must not be negative; got {value}")
    return int(value)


def check_callable(callback: Any) -> Any:
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` must be callable; got {type(callback).__name__}")
    return callback


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
