"""Damaged files: only a ValueError or OSError that names the file, in time, in little memory, no abort.

python -m tests.campaign.files --seconds 60 --seed 7 [--only a.cnf,a.mtx] [--keep FOLDER]

Files are read in a process of its own, which may die of one; every finding is shrunk to a small file and put
into tests/campaign/found, whose files `test_found.py` reads again in every run of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.campaign.command import listen, publish, until
from tests.campaign.mutate import mutated, shrunk
from tests.campaign.samples import PART_OF, samples

SECONDS = 20.0
"""In which a damaged file of some hundred bytes must be done with, on a machine with much else to do."""

LATE = "no end in"

MOST_MB = 700
"""Memory of the process that reads them."""

FOUND = Path(__file__).parent / "found"
"""What was found once: folders of one file each, under the name of the sample that it was made from."""

SLOW = ("mps", "lp")
"""Formats that take a process of their own for each file: they are tried less often."""


class Reader:
    """The process that reads; another takes its place when it has ended."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.child: subprocess.Popen[str] | None = None

    def read(self, path: Path) -> dict[str, Any]:
        """What came of a file; a fault if the process died of it or took too long."""
        child = self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(self.seconds, end)
        timer.start()
        try:
            child.stdin.write(f"{path}\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError:
            line = ""
        timer.cancel()
        if line:
            found: dict[str, Any] = json.loads(line)
            if found["peak"] > MOST_MB and not found["fault"]:
                found["fault"] = f"took {found['peak']} MB"
            if found["peak"] > MOST_MB:
                self.close()
            return found
        code = child.wait()
        self.close()
        return {
            "read": False,
            "fault": f"{LATE} {self.seconds:g} s" if late.is_set() else f"died ({code})",
        }

    def _started(self) -> subprocess.Popen[str]:
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "tests.campaign.reader"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=Path(__file__).parents[2],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            assert self.child.stdout is not None
            self.child.stdout.readline()
        return self.child

    def close(self) -> None:
        child, self.child = self.child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was written to a dead process goes nowhere
                    pipe.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Tally:
    """How many files were tried and read, by sample, and what was found."""

    tried: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[str, str, bytes]] = field(default_factory=list)
    peak: int = 0


def campaign(
    seed: int,
    seconds: float = 1e9,
    files: int = 10**9,
    only: Iterable[str] = (),
    limit: float = SECONDS,
    findings: int = 20,
    patience: float = 60.0,
) -> Tally:
    """Damage files until the time is over, there were enough of them, or enough was found.

    `limit` are the seconds for one file, `patience` those for making a finding small.
    """
    rng, tally = random.Random(seed), Tally()
    known = samples()
    names = [name for name in sorted(known) if not only or name in only]
    weights = [0.02 if _format(name) in SLOW and len(names) > 4 else 1.0 for name in names]
    going_on = until(seconds)
    with tempfile.TemporaryDirectory(prefix="dcra-files-") as folder, Reader(limit) as reader:
        for name, data in known.items():
            Path(folder, name).write_bytes(data)
        while going_on() and tally.tried.total() < files and len(tally.findings) < findings:
            name = rng.choices(names, weights)[0]
            data = mutated(known[name], rng)
            found = _tried(reader, Path(folder), name, data, known)
            tally.tried[name] += 1
            tally.read[name] += found["read"]
            tally.peak = max(tally.peak, found.get("peak", 0))
            if found["fault"] and not any(_alike(found["fault"], fault) for _, fault, _ in tally.findings):
                fails = partial(_again, reader, Path(folder), name, known, found["fault"])
                if not found["fault"].startswith(LATE) or fails(data):  # the machine may have been late
                    tally.findings.append((name, found["fault"], shrunk(data, fails, patience)))
    return tally


def _again(reader: Reader, folder: Path, name: str, known: dict[str, bytes], fault: str, data: bytes) -> bool:
    return _alike(_tried(reader, folder, name, data, known)["fault"], fault)


def _tried(reader: Reader, folder: Path, name: str, data: bytes, known: dict[str, bytes]) -> dict[str, Any]:
    """What comes of a file, or of the one that it is a part of, among files that are as they were."""
    path = folder / name
    path.write_bytes(data)
    try:
        return reader.read(folder / PART_OF.get(name, name))
    finally:
        path.write_bytes(known[name])


def _alike(one: str, other: str) -> bool:
    """Whether two faults are of one kind: the same words at their beginning."""
    return bool(one) and one.split()[:4] == other.split()[:4]


def _format(name: str) -> str:
    return name.removesuffix(".gz").rpartition(".")[2]


def report(tally: Tally, seed: int) -> str:
    lines = [f"seed {seed}: {tally.tried.total()} files, {tally.read.total()} read, at most {tally.peak} MB"]
    lines += [
        f"  {name:<16}{count:>8}{tally.read[name]:>8} read" for name, count in sorted(tally.tried.items())
    ]
    lines += [f"FOUND {name}: {fault}\n      {data!r}" for name, fault, data in tally.findings]
    return "\n".join(lines)


def keep(tally: Tally, seed: int, folder: Path) -> list[Path]:
    """Write each finding to a folder of its own, so that it is read again."""
    paths = [folder / f"seed-{seed}-{k}" / name for k, (name, _, _) in enumerate(tally.findings)]
    for path, (_, _, data) in zip(paths, tally.findings, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return paths


def read_again(path: Path) -> dict[str, Any]:
    """What comes now of a file that was found."""
    known = samples()
    with tempfile.TemporaryDirectory(prefix="dcra-files-") as folder, Reader() as reader:
        for name, data in known.items():
            Path(folder, name).write_bytes(data)
        return _tried(reader, Path(folder), path.name, path.read_bytes(), known)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="names of samples, with commas between them")
    parser.add_argument(
        "--keep", type=Path, default=FOUND, help="a folder for findings; tests/campaign/found"
    )
    parser.add_argument("--rows", type=Path, help="a folder to which a row with the counts is added")
    given = parser.parse_args()
    listen()
    begin = time.monotonic()
    tally = campaign(given.seed, given.seconds, only=[name for name in given.only.split(",") if name])
    publish(
        given.rows,
        "files",
        given.seed,
        wall=time.monotonic() - begin,
        counts={"tried": tally.tried.total(), "read": tally.read.total()},
        peak=tally.peak,
        findings=[f"{name}: {fault}" for name, fault, _ in tally.findings],
    )
    print(report(tally, given.seed))
    for path in keep(tally, given.seed, given.keep):
        print(f"written to {path}")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
