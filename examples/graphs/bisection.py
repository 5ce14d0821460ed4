"""
A mesh in two halves
====================

A mesh is to be shared by two processors: half of the nodes each, and as few edges as possible between the
halves, for every one of them is a message in each step. The cut is a quadratic objective, the halves are
a count.
"""

# %%
# A mesh of 500 nodes, finer in two places.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy import sparse
from scipy.spatial import Delaunay

import dcra

rng = np.random.default_rng(1)
n = 500
corners = rng.random((n, 2))
corners[:150] = 0.08 * rng.normal(size=(150, 2)) + [0.3, 0.35]
corners[150:280] = 0.07 * rng.normal(size=(130, 2)) + [0.7, 0.7]
corners = np.clip(corners, 0, 1)
triangles = Delaunay(corners).simplices
pairs = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
edges = np.unique(np.sort(pairs, axis=1), axis=0)
A = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
A = (A + A.T).tocsr()

# %%
# x'Ax counts every edge twice, with +1 inside and -1 across: the more negative -x'Ax is, the smaller the
# cut.

problem = dcra.Problem(quadratic=-A, constraints=dcra.exactly(n // 2))
result = dcra.solve(problem, starts=16, seed=0)
assert result.feasible


def cut(x):
    return int(np.count_nonzero(x[edges[:, 0]] != x[edges[:, 1]]))


# %%
# Beside it what geometry gives: left half and right half, along the longer way.

straight = np.where(np.argsort(np.argsort(corners[:, 0])) < n // 2, -1.0, 1.0)
print(f"searched {cut(result.x)} edges, straight {cut(straight)} of {len(edges)}")

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for axis, x, name in ((axes[0], straight, "left and right"), (axes[1], result.x, "searched")):
    across = x[edges[:, 0]] != x[edges[:, 1]]
    axis.add_collection(LineCollection(corners[edges[~across]], colors="#cccccc", linewidths=0.6))
    axis.add_collection(LineCollection(corners[edges[across]], colors="#D1242F", linewidths=2))
    axis.scatter(*corners.T, c=np.where(x > 0, "#0072B2", "#E69F00"), s=12, zorder=2)
    axis.set_title(f"{name}: {cut(x)} edges cut")
    axis.set_aspect("equal")
    axis.axis("off")
plt.show()
