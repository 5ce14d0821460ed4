"""
A spin glass on a torus
=======================

Magnets on a grid that is closed in both directions, each bound to its four neighbours with a random sign:
some pairs want to point the same way, some the opposite. Not all wishes can be met. The ground state is a
maximum cut, and comes with a bound on how good any state can be.
"""

# %%
# A torus of 30 x 30 with weights 1 and -1.

import matplotlib.pyplot as plt
import numpy as np

from dcra.apps import maxcut

side = 30
rng = np.random.default_rng(0)
node = np.arange(side * side).reshape(side, side)
edges = [
    (int(i), int(j), float(rng.choice([-1, 1])))
    for axis in (0, 1)
    for i, j in zip(node.ravel(), np.roll(node, -1, axis).ravel(), strict=True)
]

# %%
# Descents of single flips, a semidefinite relaxation rounded by random planes, and what `auto` does: each
# with the same number of starts.

cuts = {
    method: maxcut(edges, method=method, starts=16, seed=0) for method in ("flip", "sdp-rounding", "auto")
}
for method, found in cuts.items():
    print(f"{method:>14}: weight {found.weight:g}, at most {found.upper_bound:.1f}")

# %%
# Spins, and the wishes that are not met: domains end where wishes contradict each other.

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for axis, (method, found) in zip(axes, cuts.items(), strict=True):
    x = np.asarray(found.result.x)
    axis.imshow(x.reshape(side, side), cmap="coolwarm", vmin=-2, vmax=2)
    for i, j, weight in edges:
        if (weight > 0) == (x[i] == x[j]):
            (r, c), (s, d) = divmod(i, side), divmod(j, side)
            if abs(r - s) + abs(c - d) == 1:
                axis.plot([c, d], [r, s], color="black", linewidth=1.2)
    axis.set_title(f"{method}: {found.weight:g}")
    axis.set_xticks([])
    axis.set_yticks([])
figure.suptitle("black: wishes that are not met")
plt.show()
