"""Breadth-first tree search that keeps the K best branches at each depth."""

from __future__ import annotations

from dcra._array import Host
from dcra.apps.mimo.model import Received
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.tree import k_best_levels
from dcra.apps.mimo.triangular import loaded

K = 64


def k_best(model: Received, k: int = K) -> Host:
    """Levels decided one after another behind a triangular matrix, the k best partial frames kept."""
    form = loaded(model)
    if form is None:
        raise ValueError("K-best needs a channel whose columns are not all zero")
    threads = Threads()
    levels = k_best_levels(form, k, threads)
    threads.must_have_finished()
    return levels
