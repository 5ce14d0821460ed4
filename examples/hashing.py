"""Find images of the same digit by 32-bit codes: SupervisedHashing against FSDH and random projections.

    python examples/hashing.py --samples 10000

Needs MNIST (see `dcra.datasets.mnist`); `--toy` makes clusters instead and needs nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from dcra import retrieval
from dcra.apps.hashing import FSDH, LSH, SupervisedHashing
from dcra.datasets import Dataset, mnist


def toy(samples: int) -> Dataset:
    """Ten overlapping clusters."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, samples)
    return Dataset("toy", rng.normal(size=(10, 30))[y] + rng.normal(size=(samples, 30)), y)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args(arguments)
    data = toy(options.samples) if options.toy else mnist().first(options.samples)
    split = data.split(min(1000, options.samples // 5), seed=0)
    print(f"{'':20}{'mAP':>8}{'NDCG@20':>9}{'fit':>9}")
    for model in (SupervisedHashing(options.bits), FSDH(options.bits), LSH(options.bits)):
        begun = time.perf_counter()
        model.set_params(random_state=0).fit(split.features, split.labels)
        seconds = time.perf_counter() - begun
        queries, database = model.transform(split.query_features), model.transform(split.features)
        scores = retrieval.evaluate(queries, database, split.query_labels, split.labels)
        print(f"{type(model).__name__:20}{scores.map:8.3f}{scores.ndcg:9.3f}{seconds:8.1f}s")


if __name__ == "__main__":
    main()
