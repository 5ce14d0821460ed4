"""How far starts scale: a simulator of jobs, window, scheduler and broadcast, beside a formula.

    python examples/scaling_model.py --workers 100 1000 10000 --job 1.0 --window 8

A job takes `--job` seconds, with the spread of measured starts. The scheduler takes `--task` seconds for
each, one after another; a message takes `--latency` seconds each way. Where outcomes count in order, at most
`--window` jobs are open, and job k + window is sent once the outcomes of jobs 0..k have come.
"""

from __future__ import annotations

import argparse
import heapq
from math import ceil, log2

import numpy as np

SPREAD = 0.2
"""Standard deviation of a job's length, relative to its mean: 0.1 to 0.35 were measured."""


def simulated(workers: int, window: int, job: float, task: float, latency: float, jobs: int) -> float:
    """Jobs per second of a run, event by event."""
    lengths = np.random.default_rng(0).gamma(1 / SPREAD**2, job * SPREAD**2, jobs)
    free = [0.0] * workers  # when each worker is
    scheduler = 0.0  # when it is free
    back = np.empty(jobs)  # when each outcome has come
    counted = 0.0  # when the outcomes of all jobs up to some index have
    for k in range(jobs):
        if k >= window:
            counted = max(counted, back[k - window])
        scheduler = max(scheduler, counted) + task
        begin = max(scheduler + latency, heapq.heappop(free))
        end = begin + lengths[k]
        heapq.heappush(free, end)
        back[k] = end + latency
    return float(jobs / back.max())


def predicted(workers: int, window: int, job: float, task: float, latency: float) -> tuple[float, str]:
    """The least of three rates, and what binds; that of the window is from below.

    The slowest of `window` jobs is about sqrt(2 log window) deviations longer than the mean.
    """
    rates = {
        "workers": workers / job,
        "window": window / (job * (1 + SPREAD * np.sqrt(2 * np.log(max(2, window)))) + 2 * latency + task),
        "scheduler": 1 / task,
    }
    binding = min(rates, key=rates.__getitem__)
    return rates[binding], binding


def broadcast(bytes_of_A: float, workers: int, bandwidth: float) -> float:
    """Seconds until all workers have A: copies double from round to round."""
    return bytes_of_A / bandwidth * ceil(log2(workers + 1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--window", type=int, nargs="+", default=[0], help="0: twice the workers")
    parser.add_argument("--job", type=float, default=1.0)
    parser.add_argument("--task", type=float, default=1e-3)
    parser.add_argument("--latency", type=float, default=2e-3)
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--bandwidth", type=float, default=1e9, help="bytes per second")
    asked = parser.parse_args()
    print(f"{'workers':>8} {'window':>7} {'jobs/s':>9} {'formula':>9} {'binds':>10}", end=" ")
    print(f"{'efficiency':>10} {'A, s':>6}")
    for workers in asked.workers:
        for given in asked.window:
            window = given or 2 * workers
            costs = (asked.job, asked.task, asked.latency)
            rate = simulated(workers, window, *costs, jobs=max(2000, 10 * workers))
            guess, binding = predicted(workers, window, *costs)
            seconds = broadcast(asked.megabytes * 1e6, workers, asked.bandwidth)
            share = rate * asked.job / workers
            found = f"{workers:>8} {window:>7} {rate:>9.1f} {guess:>9.1f} {binding:>10}"
            print(f"{found} {share:>10.0%} {seconds:>6.1f}")


if __name__ == "__main__":
    main()
