"""Tree search over levels: K-best for good points, the sphere search for proofs."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra._kernels import library
from dcra.apps.mimo import arrays
from dcra.apps.mimo.parallel import Threads
from dcra.apps.mimo.triangular import Triangular


def k_best_levels(form: Triangular, keep: int, threads: Threads) -> Host:
    """Levels (k, n) of the frames, decided one after another, the `keep` best partial frames kept.

    A frame left undone has unknowns of the signs of Z.
    """
    from dcra._kernels.tree import breadth_first, scratch

    out = np.where(form.Z < 0, -1.0, 1.0)

    def loops(lo: int, hi: int) -> None:
        breadth_first(form.R, form.Z, lo, hi, form.q, keep, out, scratch(keep, form.n, form.q))

    def in_step(lo: int, hi: int) -> None:
        arrays.breadth_first(form.R, form.Z, lo, hi, form.q, keep, out)

    threads.spread(loops if library.available() else in_step, len(out))
    return form.decode(out)


def sphere_levels(form: Triangular, levels: Host, most: int, threads: Threads) -> tuple[Host, Host]:
    """The best levels (k, n), and for which frames they are proven, by at most `most` nodes a frame.

    The search begins with the distance of `levels`, and returns these where nothing is nearer.
    """
    from dcra._kernels.lattice import sphere, sphere_scratch

    start = form.encode(levels)
    out, sure = start.copy(), np.zeros(len(start), bool)
    radius = np.array([np.sum((z - form.R @ u) ** 2) for z, u in zip(form.Z, start, strict=True)])
    radius *= 1 + 1e-12

    def loops(lo: int, hi: int) -> None:
        u, scratch = np.empty(form.n), sphere_scratch(form.n)
        for f in range(lo, hi):
            _, nodes = sphere(form.R, form.Z[f], form.q, u, out[f], float(radius[f]), most, scratch)
            sure[f] = nodes <= most

    def in_step(lo: int, hi: int) -> None:
        sure[lo:hi] = arrays.sphere(form.R, form.Z, lo, hi, form.q, out, radius, most) <= most

    threads.spread(loops if library.available() else in_step, len(out))
    return form.decode(out), sure
