"""Supervised hashing: the paper's figures, with peers and both ways of coding the database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.bench._hashing_report import sections
from dcra.bench.base import Benchmark, Case, Choice, Row, Skip
from dcra.bench.sections import Section

BITS = (16, 32, 64, 96)
FULL, SMALL = "all", "10000"
CODINGS = ("hash", "learned")
DEPTHS = (1, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
MAPS = {"mnist": "rbf", "cifar10": "rbf", "mirflickr25k": "linear"}
QUERIES = {"mnist": 1000, "cifar10": 1000, "mirflickr25k": 2000}
X_SOLVERS = ("dcra-paper", "dcra", "mpec-epm", "l2box-admm", "subgradient")
"""Solvers of the X-step in the paper's own model, beside "auto"; the first is the paper's own."""

OURS = "supervised-auto"
"""`SupervisedHashing` with its own options; a name MODEL-SOLVER ends with the method of the X-step."""

PAPER: dict[str, Any] = {
    "target": "labels",
    "delta": 1.0,
    "start": "random",
    "w_step": "huber-descent",
    "fit_intercept": False,
}
MODELS: dict[str, dict[str, Any]] = {
    "supervised": {},
    "paper": PAPER,
    "linear": PAPER | {"feature_map": "linear"},
}
"""What a name begins with: the estimator as it comes, the paper's model, that with its linear hash."""


class Hashing(Benchmark):
    """Cases are named DATASET-BITS-SAMPLES: "cifar10-32-all" is the whole set, a number the first of it."""

    name = "hashing"
    summary = "codes of 16 to 96 bits for MNIST, CIFAR-10 and MIRFLICKR-25K: retrieval, objective and time"
    sizes = tuple(MAPS)
    methods = (
        OURS,
        "fsdh",
        "sdh",
        "codewords",
        "lsh",
        "itq",
        "paper-auto",
        *(f"paper-{solver}" for solver in X_SOLVERS),
        *(f"linear-{solver}" for solver in ("auto", *X_SOLVERS)),
    )

    def cases(self, choice: Choice) -> Iterator[Case]:
        small = choice.preset == "small"
        bits, samples = ((16, 32), SMALL) if small else (BITS, FULL)
        few = [
            m for m in self.methods if m not in ("itq", "linear-auto") and m.partition("-")[2] in ("", "auto")
        ]
        methods = choice.methods or (few if small else self.methods)
        seeds = range(choice.instances or (1 if small else 3))
        for r, size, seed, method in product(bits, choice.sizes or self.sizes, seeds, methods):
            yield Case(f"{size}-{r}-{samples}", method, seed)

    def run(self, case: Case) -> Row:
        from dcra.retrieval import evaluate

        name, bits, samples = case.instance.split("-")
        split = _split(name, samples, case.seed)
        _warm_up(case.method)
        model = _model(case.method, int(bits), MAPS[name], case.seed)
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(split.features, split.labels)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        queries = model.transform(split.query_features)
        row: Row = {"fun": _objective(model.codes_, split.labels), "wall": wall, "cpu": cpu}
        row["database"] = len(split.features)
        for coding, codes in zip(CODINGS, (model.transform(split.features), model.codes_), strict=True):
            scores = evaluate(queries, codes, split.query_labels, split.labels, counts=DEPTHS)
            row |= {
                f"map_{coding}": scores.map,
                f"map1000_{coding}": scores.map_top,
                f"map_expected_{coding}": scores.map_expected,
                f"ndcg20_{coding}": scores.ndcg,
                f"depths_{coding}": scores.counts.tolist(),
                f"precision_{coding}": scores.precision.tolist(),
                f"curve_{coding}": scores.precision_at_recall.tolist(),
            }
        return row

    def message(self, rows: Sequence[Row]) -> str:
        from dcra.bench.in_short import best_retrieval

        return best_retrieval(rows, OURS, [f"paper-{solver}" for solver in X_SOLVERS])

    def report(self, rows: Sequence[Row]) -> list[Section]:
        return sections(rows, self.sizes, self.methods)


@lru_cache(maxsize=1)
def _dataset(name: str) -> Any:
    from dcra import datasets

    try:
        return getattr(datasets, name)()
    except (OSError, ImportError) as error:
        raise Skip(str(error)) from error


def _split(name: str, samples: str, seed: int) -> Any:
    data = _dataset(name)
    if samples != FULL:
        data = data.first(int(samples))
    return data.split(min(QUERIES[name], len(data.features) // 5), seed)


def _model(method: str, bits: int, feature_map: str, seed: int) -> Any:
    from dcra.apps import hashing
    from dcra.methods import METHODS

    options: dict[str, Any] = {"feature_map": feature_map, "random_state": seed, "n_jobs": 1}
    peers: dict[str, Callable[..., Any]] = {
        "fsdh": hashing.FSDH,
        "sdh": hashing.SDH,
        "codewords": hashing.ClassCodewords,
        "lsh": hashing.LSH,
        "itq": hashing.ITQ,
    }
    if method in peers:
        return peers[method](bits, **options)
    model, _, solver = method.partition("-")
    if solver not in METHODS:
        raise Skip(f"there is no method {solver!r} here")
    return hashing.SupervisedHashing(bits, solver=solver, **(options | MODELS[model]))


@cache
def _warm_up(method: str) -> None:
    """Import what a method uses, outside the clock."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), np.arange(60) % 3
    _model(method, 20, "linear", 0).fit(X, y)


def _objective(codes: Host, labels: Host) -> float:
    """min_W |Y - X W' - 1 w'|_1 + |W|^2 / 2 for the codes X of any method."""
    from dcra.apps.hashing.rounds import make_regression
    from dcra.apps.hashing.targets import label_table
    from dcra.apps.hashing.wstep import accelerated
    from dcra.losses import L1

    _, table = label_table(labels, len(labels))
    problem = make_regression(table, codes, L1(), 1.0, True)
    return problem.objective(accelerated(problem, np.zeros((table.d, codes.shape[1] + 1))))
