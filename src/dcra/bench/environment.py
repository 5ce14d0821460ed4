"""Where and with what a row was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from dcra import __version__

PACKAGES = ("numpy", "scipy")
BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def describe_environment(threads: int, jobs: int) -> dict[str, Any]:
    """Versions, commit, machine, and the threads of one case beside how many cases ran at once."""
    return {
        "dcra": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "jobs": jobs,
    }


def thread_variables(threads: int) -> dict[str, str]:
    """Environment variables that hold BLAS to one thread and a solve to `threads` workers."""
    return dict.fromkeys(BLAS_VARIABLES, "1") | {"DCRA_NUM_THREADS": str(threads)}


@cache
def commit() -> str | None:
    """The commit of the checkout this package lies in, with a + after it if files have changed since.

    A copy of a checkout without its history is told by DCRA_COMMIT what it is a copy of.
    """
    here = Path(__file__)
    tracked = _git("ls-files", "--error-unmatch", here.name)
    if tracked is None:
        return os.environ.get("DCRA_COMMIT")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", str(here.parents[1]))
    return f"{_git('rev-parse', '--short=12', 'HEAD')}{'+' if changed else ''}"


@cache
def processor() -> str:
    """The name that the processor gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
