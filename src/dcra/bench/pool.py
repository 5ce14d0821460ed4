"""Child processes that run cases, so that a case can fail in any way and the run goes on."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from dcra.bench.base import Case, Row
from dcra.bench.environment import thread_variables

START_SECONDS = 300.0
"""How long a child may take to import what it needs."""


class Worker:
    """One child; it is replaced when a case has ended it."""

    def __init__(self, path: str, threads: int, log: IO[bytes]) -> None:
        self.path, self.threads, self.log = path, threads, log
        self.child: subprocess.Popen[bytes] | None = None
        self.closed = False

    def run(self, case: Case, limit: float) -> Row:
        """The row of a case, whatever becomes of it."""
        if self.child is None:
            reply, why = self._start()
            if reply is None:
                return self._ended(f"the process for it did not start: {why}")
        reply, why = self._ask(case, limit)
        if reply is not None:
            return reply
        if why == "late":
            return self._ended(f"no answer {limit:g} s after the start; its process was ended", "timeout")
        return self._ended(f"its process ended with {why}")

    def halt(self) -> None:
        """End the child at once, from any thread; no other is started."""
        self.closed = True
        child = self.child
        if child is not None:
            child.kill()

    def discard(self) -> None:
        """End the child and let go of it."""
        child, self.child = self.child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):  # a message that the child has not read
                    pipe.close()

    def _start(self) -> tuple[Row | None, str]:
        command = [sys.executable, "-P", "-m", "dcra.bench.worker", self.path, str(self.threads)]
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ
            | thread_variables(self.threads)
            | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for the parent, who then ends its children
        )
        if self.closed:
            self.child.kill()
        return self._reply(START_SECONDS)

    def _ask(self, case: Case, limit: float) -> tuple[Row | None, str]:
        assert self.child is not None
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps(asdict(case)).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            return None, self._exit()
        return self._reply(limit)

    def _reply(self, limit: float) -> tuple[Row | None, str]:
        """The next message of the child; or None and "late", or None and how the child ended."""
        child = self.child
        assert child is not None
        assert child.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(limit, end)
        timer.start()
        line = child.stdout.readline()
        timer.cancel()
        if line.endswith(b"\n"):
            message: Row = json.loads(line)
            if late.is_set():  # it came just in time, but its process was ended all the same
                self.discard()
            return message, ""
        return None, "late" if late.is_set() else self._exit()

    def _exit(self) -> str:
        assert self.child is not None
        code = self.child.wait()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _ended(self, reason: str, status: str = "crashed") -> Row:
        self.discard()
        return {"status": status, "reason": reason}


class Pool:
    """Some workers side by side."""

    def __init__(self, path: str, jobs: int, threads: int, log: Path) -> None:
        self.log = log.open("ab")
        self.workers = [Worker(path, threads, self.log) for _ in range(jobs)]
        self.threads: list[threading.Thread] = []

    def run(self, cases: Sequence[tuple[Case, float]]) -> Iterator[tuple[Case, Row]]:
        """Outcomes of cases (each with its limit in seconds) as they come."""
        waiting: queue.SimpleQueue[tuple[Case, float]] = queue.SimpleQueue()
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for case in cases:
            waiting.put(case)

        def serve(worker: Worker) -> None:
            while not worker.closed:
                try:
                    case, limit = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    row = worker.run(case, limit)
                except Exception as error:  # such as no memory for a new process
                    row = {"status": "crashed", "reason": f"its process could not be run: {error!r}"}
                done.put((case, row))

        self.threads = [
            threading.Thread(target=serve, args=(worker,), daemon=True) for worker in self.workers
        ]
        for thread in self.threads:
            thread.start()
        for _ in cases:
            yield done.get()

    def close(self) -> None:
        for worker in self.workers:
            worker.halt()
        for thread in self.threads:
            thread.join()
        for worker in self.workers:
            worker.discard()
        self.log.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
