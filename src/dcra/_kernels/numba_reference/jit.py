"""The two decorators: `kernel` for what Python calls, `inline` for what kernels are made of."""

from numba import njit

# No `nnan` or `ninf`: they would delete checks for values that are not finite.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
OPTIONS = {"nogil": True, "fastmath": _MATH, "error_model": "numpy", "_nrt": False}

kernel = njit(cache=True, **OPTIONS)
inline = njit(forceinline=True, **OPTIONS)
