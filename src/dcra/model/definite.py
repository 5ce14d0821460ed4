"""Whether a matrix is positive definite."""

from __future__ import annotations

import numpy as np

from dcra._array import Host


def positive_definite(S: Host) -> bool:
    """Whether the Cholesky factorisation of S goes through; SciPy's would take long to be imported."""
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return False
    return True
