"""The sphere decoder: maximum likelihood, exact, in time that grows exponentially."""

from __future__ import annotations

import numpy as np

from dcra.apps.mimo.model import Host, Received
from dcra.apps.mimo.triangular import triangular

MOST_NODES = 20_000_000


def sphere_decoder(model: Received) -> Host:
    """Depth-first search from an infinite radius, nearest levels first."""
    from dcra._kernels.lattice import sphere

    form = triangular(model)
    if form is None:
        raise ValueError("the sphere decoder needs a channel whose columns are not all zero")
    part, level, step, u = np.empty(form.n + 1), *(np.empty(form.n) for _ in range(3))
    out = []
    for f in range(len(model.y)):
        best = np.ones(form.n)
        _, nodes = sphere(form.R, form.target(f), form.q, u, best, np.inf, MOST_NODES, part, level, step)
        if nodes > MOST_NODES:
            raise ValueError(
                f"frame {f} needs more than {MOST_NODES} nodes; the system is too large for this"
            )
        out.append(form.decode(best))
    return np.stack(out)
