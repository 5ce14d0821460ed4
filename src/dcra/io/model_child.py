"""Read a model file with HiGHS, put its parts into an archive: run by `dcra.io.mps` in a process of its own.

python model_child.py MODEL ARCHIVE SECONDS BYTES

HiGHS can hang or break off on a damaged file, and cannot be interrupted; a process can.
"""

from __future__ import annotations

import sys
from typing import Any

UNREADABLE, EMPTY = 3, 4
"""Exit codes: HiGHS refuses the file; there are no variables in it."""

WALL = 4.0
"""Seconds on the clock for a second of work: the machine may have more to do."""


def main(model: str, archive: str, seconds: float, size: int) -> int:
    import highspy
    import numpy as np

    _limit(seconds, size)
    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    if solver.readModel(model) == highspy.HighsStatus.kError:
        return UNREADABLE
    lp, hessian = solver.getModel().lp_, solver.getModel().hessian_
    if lp.num_col_ == 0:
        return EMPTY
    matrix = lp.a_matrix_
    kinds = [str(kind).rpartition(".")[2] for kind in lp.integrality_]
    arrays: dict[str, Any] = {
        "cost": np.asarray(lp.col_cost_, float),
        "offset": np.asarray(float(lp.offset_)),
        "maximise": np.asarray("kMaximize" in str(lp.sense_)),
        "hessian_start": np.asarray(hessian.start_ if hessian.dim_ else [], np.int64),
        "hessian_index": np.asarray(hessian.index_ if hessian.dim_ else [], np.int64),
        "hessian_value": np.asarray(hessian.value_ if hessian.dim_ else [], float),
        "triangular": np.asarray("kTriangular" in str(hessian.format_)),
        "integer": np.asarray([kind in ("kInteger", "kImplicitInteger") for kind in kinds], bool),
        "low": np.asarray(lp.col_lower_, float),
        "high": np.asarray(lp.col_upper_, float),
        "row_low": np.asarray(lp.row_lower_, float),
        "row_high": np.asarray(lp.row_upper_, float),
        "names": _bytes(lp.col_names_),
        "row_names": _bytes(lp.row_names_),
        "by_columns": np.asarray("kColwise" in str(matrix.format_)),
        "value": np.asarray(matrix.value_, float),
        "index": np.asarray(matrix.index_, np.int64),
        "start": np.asarray(matrix.start_, np.int64),
    }
    np.savez(archive, **arrays)
    return 0


def _bytes(names: Any) -> Any:
    """Names as bytes, one a line."""
    import numpy as np

    return np.frombuffer("\n".join(map(str, names)).encode("utf-8", "replace"), np.uint8)


def _limit(seconds: float, size: int) -> None:
    """Let the system end this process where the reading takes too long or too much memory."""
    try:
        import resource
        import signal
    except ImportError:  # not on this system: whoever started us looks at the clock
        return
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL * seconds)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
