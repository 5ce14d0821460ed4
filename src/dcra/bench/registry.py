"""Benchmarks by name: one lazy table, so that nothing is imported before it is used."""

from __future__ import annotations

from importlib import import_module

from dcra.bench.base import Benchmark
from dcra.messages import suggest

BENCHMARKS: dict[str, str] = {
    "maxcut": "dcra.bench.maxcut:MaxCut",
    "qubo": "dcra.bench.qubo:Qubo",
    "qap": "dcra.bench.qap:Qap",
}
"""'module:class' of each benchmark."""


def benchmark(name: str) -> Benchmark:
    """The benchmark behind a name."""
    if name not in BENCHMARKS:
        raise ValueError(suggest("benchmark", name, BENCHMARKS))
    module, _, attribute = BENCHMARKS[name].partition(":")
    made: Benchmark = getattr(import_module(module), attribute)()
    return made
