"""The child process of a run: cases come in as lines of JSON, outcomes go out the same way.

python -m dcra.bench.worker module:Class THREADS
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import threading
import time
from typing import Any, BinaryIO

from dcra.bench.base import Benchmark, Case, Row, Skip
from dcra.bench.registry import make
from dcra.bench.rows import line_of
from dcra.bench.solving import is_unavailable

WATCH_SECONDS = 0.5


def main(arguments: list[str]) -> None:
    """Serve cases until there are no more."""
    out = private_output()
    faulthandler.enable()
    leave_with_parent()
    benchmark = make(arguments[0])
    benchmark.threads = int(arguments[1])
    warmed: dict[str, float] = {}
    send(out, {"ready": True})
    for line in sys.stdin.buffer:
        case = Case(**json.loads(line))
        if case.method not in warmed:
            warmed[case.method] = warm(benchmark, case)
        send(out, {**run_case(benchmark, case), "importing": warmed[case.method]})


def private_output() -> BinaryIO:
    """The way to the parent; what solvers print goes to the log with stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def send(out: BinaryIO, message: dict[str, Any]) -> None:
    out.write(line_of(message))
    out.flush()


def warm(benchmark: Benchmark, case: Case) -> float:
    """Seconds of importing; what goes wrong here will go wrong again, and be told, in the run."""
    begin = time.perf_counter()
    try:
        benchmark.warm(case)
    except Exception as error:
        print(f"warming {case.method}: {error!r}", file=sys.stderr)
    return time.perf_counter() - begin


def run_case(benchmark: Benchmark, case: Case) -> Row:
    """The row of a case, or why there is none."""
    try:
        return {"status": "ok", **benchmark.run(case)}
    except Skip as reason:
        return {"status": "skipped", "reason": str(reason)}
    except (Exception, SystemExit) as error:
        if is_unavailable(error):
            return {"status": "skipped", "reason": str(error)}
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


def leave_with_parent() -> None:
    """End this process soon after its parent, even in the middle of a solve."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1:])
