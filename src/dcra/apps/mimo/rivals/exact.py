"""The sphere decoder: maximum likelihood, exact, in time that grows exponentially."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.model import Received
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.tree import k_best_levels, sphere_levels
from dcra.apps.mimo.triangular import triangular

MOST_NODES = 20_000_000


def sphere_decoder(model: Received) -> Host:
    """Depth-first search, nearest levels first, from the distance of successive cancellation."""
    form = triangular(model)
    if form is None:
        raise ValueError("the sphere decoder needs a channel whose columns are not all zero")
    threads = Threads()
    levels, sure = sphere_levels(form, k_best_levels(form, 1, threads), MOST_NODES, threads)
    threads.must_have_finished()
    if not sure.all():
        frame = int(np.flatnonzero(~sure)[0])
        raise ValueError(f"frame {frame} needs more than {MOST_NODES} nodes: the system is too large")
    return levels
