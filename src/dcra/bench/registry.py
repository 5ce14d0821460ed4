"""Benchmarks by name: one lazy table, so that nothing is imported before it is used."""

from __future__ import annotations

from dcra.bench.base import Benchmark
from dcra.messages import suggest
from dcra.named import load, offered

BENCHMARKS: dict[str, str] = {
    "table1": "dcra.bench.table1:Table1",
    "sensitivity": "dcra.bench.sensitivity:Sensitivity",
    "ablation": "dcra.bench.ablation:Ablation",
    "families": "dcra.bench.families:Families",
    "bcs": "dcra.bench.bcs:BinaryCompressedSensing",
    "hashing": "dcra.bench.hashing:Hashing",
    "xstep": "dcra.bench.xstep:XStepBenchmark",
    "constrained": "dcra.bench.constrained:Constrained",
    "categorical": "dcra.bench.categorical:Categorical",
    "bisection": "dcra.bench.bisection:Bisection",
    "exact": "dcra.bench.exact:ExactBenchmark",
    "marketsplit": "dcra.bench.marketsplit:MarketSplit",
    "maxsat": "dcra.bench.maxsat:MaxSat",
    "mimo": "dcra.bench.mimo:Mimo",
    "maxcut": "dcra.bench.maxcut:MaxCut",
    "qubo": "dcra.bench.qubo:Qubo",
    "qap": "dcra.bench.qap:Qap",
    "regression": "dcra.bench.regression:Regression",
    "device": "dcra.bench.device:DeviceBenchmark",
    "speed": "dcra.bench.speed:Speed",
    "scale": "dcra.bench.scale:Scale",
}
"""'module:class' of each benchmark."""


GROUP = "dcra.benchmarks"
"""The entry points under which other packages offer benchmarks: a name, and 'module:class'."""


def known() -> dict[str, str]:
    """Every benchmark by name: ours, then those of installed packages."""
    return BENCHMARKS | {name: path for name, path in offered(GROUP).items() if name not in BENCHMARKS}


def path_of(name: str) -> str:
    """'module:class' behind a name; such a path is its own."""
    if ":" in name:
        return name
    found = known()
    if name not in found:
        raise ValueError(suggest("benchmark", name, found))
    return found[name]


def find_benchmark(name: str) -> Benchmark:
    """The benchmark behind a name, or at 'module:class'."""
    return make(path_of(name))


def make(path: str) -> Benchmark:
    """The benchmark at 'module:class'."""
    try:
        kind = load(path)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"there is no benchmark at {path!r} ({error}); a module beside you is found with PYTHONPATH=."
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, Benchmark)):
        raise ValueError(f"{path!r} must be a subclass of dcra.bench.base.Benchmark; got {kind!r}")
    return kind()
