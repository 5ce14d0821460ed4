"""Tree search over levels: K-best for good points, the sphere search for proofs."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.triangular import Triangular


def k_best_levels(form: Triangular, keep: int, threads: Threads) -> Host:
    """Levels (k, n) of the frames, decided one after another, the `keep` best partial frames kept.

    A frame left undone has unknowns of the signs of Z.
    """
    from dcra._kernels.tree import breadth_first, scratch

    out = np.where(form.Z < 0, -1.0, 1.0)

    def work(lo: int, hi: int) -> None:
        breadth_first(form.R, form.Z, lo, hi, form.q, keep, out, scratch(keep, form.n, form.q))

    threads.spread(work, len(out))
    return form.decode(out)


def sphere_levels(form: Triangular, levels: Host, most: int, threads: Threads) -> tuple[Host, Host]:
    """The best levels (k, n), and for which frames they are proven, by at most `most` nodes a frame.

    The search begins with the distance of `levels`, and returns these where nothing is nearer.
    """
    from dcra._kernels.lattice import sphere, sphere_scratch

    start = form.encode(levels)
    out, sure = start.copy(), np.zeros(len(start), bool)

    def work(lo: int, hi: int) -> None:
        u, scratch = np.empty(form.n), sphere_scratch(form.n)
        for f in range(lo, hi):
            radius = float(np.sum((form.Z[f] - form.R @ start[f]) ** 2)) * (1 + 1e-12)
            _, nodes = sphere(form.R, form.Z[f], form.q, u, out[f], radius, most, scratch)
            sure[f] = nodes <= most

    threads.spread(work, len(out))
    return form.decode(out), sure
