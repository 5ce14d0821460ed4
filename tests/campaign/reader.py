"""The process that reads damaged files: a path a line comes in, what came of it goes out.

python -m tests.campaign.reader

It may be ended by what it reads; whoever started it knows by which file.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dcra
from dcra.io import damage

LONGEST = 2000
"""Letters of a complaint: a file must not be repeated in it."""


def verdict(path: Path) -> dict[str, Any]:
    """What came of reading a file; `fault` says what should not have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = dcra.io.read(path)
    except (ValueError, OSError) as error:
        return {"read": False, "fault": _fault(error, path), "said": str(error)[:300]}
    except BaseException as error:
        missing = isinstance(error, ImportError) and find_spec("highspy") is None and "highspy" in str(error)
        return {"read": False, "fault": "" if missing else f"{type(error).__name__}: {error}"[:300]}
    return {"read": True, "fault": _use(problem)}


def _fault(error: Exception, path: Path) -> str:
    text = str(error)
    if str(path) not in text:
        return f"the file is not named: {text[:200]}"
    if "\n" in text or len(text) > LONGEST:
        return f"not one line, or a long one: {text[:200]}"
    if not text.removeprefix(f"{path}: ").strip():
        return "nothing is said"
    cause = error.__cause__
    if cause is not None and not isinstance(cause, damage.FORESEEN):
        return f"not foreseen: {type(cause).__name__}: {cause}"[:300]
    return ""


def _use(problem: dcra.Problem) -> str:
    """A problem that was read can be evaluated."""
    try:
        import numpy as np

        point = np.ones(problem.n)
        fun = problem.objective(point)
        problem.violation(point)
    except Exception as error:
        return f"read, but {type(error).__name__}: {error}"[:300]
    return "" if fun == fun else "read, but the objective is NaN"


def peak() -> int:
    """The most memory that this process has had, in MB; rusage would count that of its parent."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(verdict(Path(line.rstrip("\n"))) | {"peak": peak()}), flush=True)


if __name__ == "__main__":
    main()
