"""Benchmark `mimo`: bit error rates over SNR, for large, correlated and impulsive systems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcra.apps import mimo
from dcra.apps.mimo.model import LARGE
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.mimo_report import sections
from dcra.bench.sections import Section

Host = NDArray[Any]


@dataclass(frozen=True)
class System:
    """n x n antennas; `frames` go through each of `channels` (in the small preset)."""

    n: int
    constellation: str
    snrs: Sequence[int]
    frames: int
    channels: int
    rho: float = 0.0
    impulsive: bool = False


GRID = tuple(range(4, 17, 2))
SYSTEMS = {
    "corr-32": System(32, "qpsk", GRID, 100, 4, rho=0.7),
    "impulse-32": System(32, "qpsk", GRID, 100, 4, impulsive=True),
    "iid-32": System(32, "qpsk", GRID, 100, 4),
    "qam-16": System(16, "16qam", tuple(range(8, 25, 4)), 100, 4),
    "iid-800": System(800, "qpsk", (4, 6, 8, 10), 1, 2),
    "iid-1200": System(1200, "qpsk", (4, 6, 8, 10), 1, 2),
}
FULL = 25
"""The full preset has this many times as many channels."""

LARGEST = {"sphere": 12, "sdr": 64, "k-best": 200, "ep": 1200, "mmse-sic": 800}
LARGEST |= dict.fromkeys(("detect-l1", "detect-huber", "detect-huber-soft"), 200)
"""Antennas beyond which a method is left out: it would take minutes a frame."""

SMALL_ENOUGH = LARGE // 2
"""Antennas up to which complex symbols are searched for in float64."""

OURS: dict[str, dict[str, Any]] = {
    "detect": {},
    "detect-soft": {"soft": True},
    "detect-l1": {"loss": "l1"},
    "detect-huber": {"loss": "huber"},
    "detect-huber-soft": {"loss": "huber", "soft": True},
}
"""Modes of `mimo.detect`, by what they are asked for; rows have the stages that were run."""


class Mimo(Benchmark):
    """Detection of random symbols; every method sees the same frames and the true noise variance."""

    name: ClassVar[str] = "mimo"
    summary: ClassVar[str] = "MIMO detection: bit error rate over SNR, time per frame, every rival"
    sizes: ClassVar[Sequence[str]] = tuple(SYSTEMS)
    methods: ClassVar[Sequence[str]] = (*OURS, *mimo.RIVALS)

    def cases(self, choice: Choice) -> Iterable[Case]:
        for size in choice.sizes or self.sizes:
            system = SYSTEMS[size]
            count = choice.instances or system.channels * (1 if choice.preset == "small" else FULL)
            for snr in system.snrs:
                for i in range(count):
                    for method in choice.methods or self.methods:
                        yield Case(f"{size}-{snr}dB-{i}", method, i)

    def run(self, case: Case) -> Row:
        size, snr, _ = parsed(case.instance)
        system = SYSTEMS[size]
        if system.n > LARGEST.get(case.method, system.n):
            raise Skip(f"{case.method} is left out beyond {LARGEST[case.method]} antennas: minutes a frame")
        sent = instance(case.instance)
        detect = detector(case.method, sent, system, case.seed)
        import_for(case.method, system.constellation, system.n > SMALL_ENOUGH)
        wall, cpu = time.perf_counter(), time.process_time()
        levels, how = detect()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        row = judged(sent, levels, system) | {"snr": snr, "size": size, "wall": wall, "cpu": cpu}
        return row | how

    def message(self, rows: Sequence[Row]) -> str:
        from dcra.bench.in_short import fewest_errors

        return fewest_errors(rows)

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return sections(rows, SYSTEMS)


def parsed(name: str) -> tuple[str, int, int]:
    """Size, SNR in dB and number of an instance."""
    size, snr, index = name.rsplit("-", 2)
    return size, int(snr.removesuffix("dB")), int(index)


def instance(name: str) -> mimo.Frames:
    """Channel and frames, from the name alone."""
    size, snr, index = parsed(name)
    system = SYSTEMS[size]
    rng = np.random.default_rng([index, snr, *size.encode()])
    if system.rho:
        H = mimo.correlated_channel(system.n, system.n, system.rho, rng)
    else:
        H = mimo.iid_channel(system.n, system.n, rng)
    options: dict[str, Any] = {"frames": system.frames, "impulsive": system.impulsive, "rng": rng}
    return mimo.transmit(H, snr, system.constellation, **options)


def detector(method: str, sent: mimo.Frames, system: System, seed: int) -> Callable[[], tuple[Host, Row]]:
    """A call that returns levels (k, n), which stages were run for them, and the share of proven frames."""
    model, _ = mimo.received(sent.H, sent.y, system.constellation, sent.noise)
    if method not in OURS:
        return lambda: (mimo.rival(method)(model), {"stages": method})

    def ours() -> tuple[Host, Row]:
        found = mimo.detect(sent.H, sent.y, sent.noise, system.constellation, seed=seed, **OURS[method])
        how: Row = {"stages": found.method, "proven": float(np.mean(found.proven))}
        return model.constellation.levels(found.symbols.T), how

    return ours


def judged(sent: mimo.Frames, levels: Host, system: System) -> Row:
    """Wrong bits, and squared loss over that of the symbols sent, in float64."""
    model, _ = mimo.received(sent.H, sent.y, system.constellation, sent.noise)
    kind = model.constellation
    loss, true = model.objective(levels), model.objective(sent.levels)
    wrong = kind.bits(levels) != kind.bits(sent.levels)
    return {
        "fun": float(loss.sum()),
        "bits": int(wrong.size),
        "wrong": int(wrong.sum()),
        "errors": wrong.sum(axis=(1, 2)).tolist(),
        "frames": len(levels),
        "ratio": float(np.mean(loss / true)),
        "worst_ratio": float(np.max(loss / true)),
    }


@cache
def import_for(method: str, constellation: str, large: bool) -> None:
    """Solve something small by the stages that a system needs, once in a process."""
    rng = np.random.default_rng(0)
    n, frames = (SMALL_ENOUGH + 1, 1) if large else (12, 6)  # some not proven at once: every stage is needed
    sent = mimo.transmit(mimo.iid_channel(n, n, rng), 4.0, constellation, frames=frames, rng=rng)
    detector(method, sent, System(n, constellation, (4,), frames, 1), 0)()


def matched_filter_bound(kind: mimo.Constellation, snr: float) -> float:
    """Bit error rate of one level when all others are known, many antennas, Gray bits."""
    from scipy.special import ndtr

    return float(2 * (1 - 1 / kind.q) / kind.digits * ndtr(-kind.scale * sqrt(2 * snr)))


def bayes_floor(snr: float) -> float:
    """Large-system bit error rate of the best detector, n x n, QPSK, independent entries.

    The fixed point of eta = snr / (1 + snr mse(eta)), mse(eta) that of a spin in noise 1/eta, from below.
    """
    from scipy.special import ndtr, roots_hermitenorm

    z, w = roots_hermitenorm(80)
    w = w / w.sum()
    eta = 0.0
    for _ in range(10_000):
        mse = 1 - float(w @ np.tanh(eta + sqrt(eta) * z))
        new = snr / (1 + snr * mse)
        if abs(new - eta) < 1e-12 * snr:
            break
        eta = new
    return float(ndtr(-sqrt(eta)))
