"""A in partitions of rows, each with a worker of its own, or all here.

Residuals stay where their rows are. What partitions send is added in their order, so that sums depend on the
partitioning and on nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dcra._array import Host, is_dask
from dcra.machines import dispatch, partition
from dcra.model.problem import DOMAINS
from dcra.search.workers import NobodyLeft


class Here:
    """Partitions in this process, one after another."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def gather(self, values: list[Any]) -> list[Any]:
        return values


class There:
    """Partitions on the workers of a Dask cluster, which keeps what is computed where it was computed."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(function, *args, pure=False)

    def gather(self, values: list[Any]) -> list[Any]:
        from distributed import wait

        silent = time.perf_counter()
        while True:
            try:
                wait(values, timeout=dispatch.SILENCE)
                found: list[Any] = self.client.gather(values)
                return found
            except TimeoutError:
                silent = time.perf_counter() if self.client.nthreads() else silent
                if time.perf_counter() - silent > dispatch.ABSENCE:
                    raise NobodyLeft("`executor` has had no worker for long") from None


class Rows:
    """The partitions of A: sums over all of them, in their order."""

    def __init__(self, site: Here | There, parts: list[Any]) -> None:
        self.site, self.parts = site, parts

    def everywhere(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return [self.site.submit(function, part, *args) for part in self.parts]

    def onwards(self, function: Callable[..., Any], pairs: list[Any], *args: Any) -> list[Any]:
        """A step of each partition from where it stood."""
        together = zip(self.parts, pairs, strict=True)
        return [self.site.submit(function, part, pair, *args) for part, pair in together]

    def sums(self, pairs: list[Any]) -> Host:
        """What all partitions send, added in their order."""
        return self.added([self.site.submit(partition.sent, pair) for pair in pairs])

    def added(self, values: list[Any]) -> Host:
        total, *others = self.site.gather(values)
        for other in others:
            total = total + other
        return np.asarray(total)


def site_of(executor: Any) -> Here | There:
    if executor is None:
        return Here()
    if not callable(getattr(executor, "scatter", None)):
        raise TypeError(
            "`executor` must be a dask.distributed.Client, or None, where `A` is in parts: residuals stay "
            f"with workers; got {type(executor).__name__}"
        )
    return There(executor)


def partitions(A: Any, b: Any, loss: Any, about: dict[str, Any], site: Here | There) -> tuple[Rows, int]:
    """The rows of A, each share with its own of b and of the weights."""
    domain, weights = about["domain"], about["weights"]
    if domain not in DOMAINS:
        raise ValueError(f"`domain` must be 'spin' or 'binary'; got {domain!r}")
    blocks, sizes, n = _blocks(A, site)
    b = np.asarray(b)
    if b.shape != (sum(sizes),):
        raise ValueError(f"`b` must have shape ({sum(sizes)},) to match the rows of `A`; got {b.shape}")
    if weights is not None and np.ndim(weights) and np.shape(weights) != b.shape:
        raise ValueError(
            f"`weights` must be a number or have shape {b.shape} like `b`; got {np.shape(weights)}"
        )
    ends = np.cumsum([0, *sizes])
    parts = []
    for block, lo, hi in zip(blocks, ends[:-1], ends[1:], strict=True):
        share = 1.0 if weights is None else weights if np.ndim(weights) == 0 else np.asarray(weights)[lo:hi]
        parts.append(site.submit(partition.open_partition, block, b[lo:hi], share, loss, domain))
    return Rows(site, parts), n


def _blocks(A: Any, site: Here | There) -> tuple[list[Any], list[int], int]:
    """What each partition is made of, how many rows it has, and the columns of all."""
    if not is_dask(A):
        shapes = site.gather([site.submit(_shape_of, str(name)) for name in A])
        widths = {shape[1] for shape in shapes}
        if len(widths) > 1:
            raise ValueError(f"all files of `A` must have the same number of columns; got {sorted(widths)}")
        return [str(name) for name in A], [shape[0] for shape in shapes], widths.pop()
    if A.ndim != 2 or np.isnan(A.shape).any():
        raise ValueError(f"`A` must have shape (r, n) with known chunks; got {A.shape}")
    A = A.rechunk({1: -1})
    blocks = list(A.to_delayed().ravel())
    computed = site.client.compute(blocks) if isinstance(site, There) else [one.compute() for one in blocks]
    return computed, [int(size) for size in A.chunks[0]], int(A.shape[1])


def _shape_of(name: str) -> tuple[int, int]:
    rows, columns = partition.read(name).shape
    return int(rows), int(columns)
