"""Tree search over levels: K-best for good points, the sphere search for proofs."""

from __future__ import annotations

import numpy as np

from dcra.apps.mimo.model import Host
from dcra.apps.mimo.parallel import spread
from dcra.apps.mimo.triangular import Triangular


def k_best_levels(form: Triangular, keep: int, n_jobs: int = 1) -> Host:
    """Levels (k, n) of the frames, decided one after another, the `keep` best partial frames kept."""
    from dcra._kernels.tree import breadth_first

    out = np.empty((len(form.Z), form.n))

    def work(lo: int, hi: int) -> None:
        points, costs = np.empty((2, keep, form.n)), np.empty(keep)
        scratch = (points[0], points[1], costs, np.empty(keep * form.q), np.empty(keep * form.q, np.int64))
        breadth_first(form.R, form.Z, lo, hi, form.q, keep, out, scratch)

    spread(work, len(out), n_jobs)
    return form.decode(out)


def sphere_levels(form: Triangular, levels: Host, most: int, n_jobs: int = 1) -> tuple[Host, Host]:
    """The best levels (k, n), and for which frames they are proven, by at most `most` nodes a frame.

    The search begins with the distance of `levels`, and returns these where nothing is nearer.
    """
    from dcra._kernels.lattice import sphere

    start = form.encode(levels)
    out, sure = start.copy(), np.zeros(len(start), bool)

    def work(lo: int, hi: int) -> None:
        part, level, step, u = np.empty(form.n + 1), *(np.empty(form.n) for _ in range(3))
        for f in range(lo, hi):
            radius = float(np.sum((form.Z[f] - form.R @ start[f]) ** 2)) * (1 + 1e-12)
            _, nodes = sphere(form.R, form.Z[f], form.q, u, out[f], radius, most, part, level, step)
            sure[f] = nodes <= most

    spread(work, len(out), n_jobs)
    return form.decode(out), sure
