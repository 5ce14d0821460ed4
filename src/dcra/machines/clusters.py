"""Clusters for as long as a command runs: a scheduler that is there, or workers of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dcra.messages import missing

SECONDS = 10.0
"""How long a scheduler may take to answer."""

QUIET = {
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
}
"""Workers of our own share their cores with what Dask does beside: it looks around less often."""


@contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A Dask client of the scheduler at an address, or of `workers` processes here; None without either."""
    if scheduler is None and workers is None:
        yield None
        return
    if scheduler is not None and workers is not None:
        raise ValueError("--scheduler names a cluster and --workers makes one: give one of the two")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers must be at least 1; got {workers}")
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(missing("a cluster", "dask.distributed", "dask", error)) from error
    if scheduler is None:
        with (
            dask.config.set(QUIET),
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=50,
            ) as local,
            Client(local, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = Client(scheduler, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"there is no scheduler at {scheduler}: {error}") from error
    with client:
        yield client
