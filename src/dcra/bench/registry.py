"""Benchmarks by name: one lazy table, so that nothing is imported before it is used."""

from __future__ import annotations

from importlib import import_module

from dcra.bench.base import Benchmark
from dcra.messages import suggest

BENCHMARKS: dict[str, str] = {
    "table1": "dcra.bench.table1:Table1",
    "sensitivity": "dcra.bench.sensitivity:Sensitivity",
    "ablation": "dcra.bench.ablation:Ablation",
    "families": "dcra.bench.families:Families",
    "bcs": "dcra.bench.bcs:BinaryCompressedSensing",
    "hashing": "dcra.bench.hashing:Hashing",
    "xstep": "dcra.bench.xstep:XStepBenchmark",
    "constrained": "dcra.bench.constrained:Constrained",
    "exact": "dcra.bench.exact:ExactBenchmark",
    "marketsplit": "dcra.bench.marketsplit:MarketSplit",
    "maxsat": "dcra.bench.maxsat:MaxSat",
    "mimo": "dcra.bench.mimo:Mimo",
    "maxcut": "dcra.bench.maxcut:MaxCut",
    "qubo": "dcra.bench.qubo:Qubo",
    "qap": "dcra.bench.qap:Qap",
}
"""'module:class' of each benchmark."""


def find_benchmark(name: str) -> Benchmark:
    """The benchmark behind a name."""
    if name not in BENCHMARKS:
        raise ValueError(suggest("benchmark", name, BENCHMARKS))
    return make(BENCHMARKS[name])


def make(path: str) -> Benchmark:
    """The benchmark at 'module:class'."""
    module, _, attribute = path.partition(":")
    made: Benchmark = getattr(import_module(module), attribute)()
    return made
