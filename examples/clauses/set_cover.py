"""
Stations that reach everybody
=============================

Hospitals could be built at sixty sites, at different prices; every village must be within reach of one of
them. The cheapest choice is a set cover: a linear objective under one constraint for each village.
"""

# %%
# Villages and sites on a map, and which site reaches whom.

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from scipy.optimize import LinearConstraint, milp

import dcra

rng = np.random.default_rng(0)
villages, sites, reach = rng.random((200, 2)), rng.random((60, 2)), 0.2
price = rng.integers(10, 30, 60).astype(float)
near = np.hypot(*(villages[:, None] - sites[None, :]).transpose(2, 0, 1)) < reach
reachable = near.any(axis=1)  # a village far from all sites is not ours to solve
villages, near = villages[reachable], near[reachable]

# %%
# Each row of the constraints says: at least one of the sites that reach this village.

rows = LinearConstraint(sparse.csr_array(near.astype(float)), 1, np.inf)
result = dcra.solve(dcra.Problem(linear=price, domain="binary", constraints=rows), starts=16, seed=0)
print(result)
assert result.feasible

# %%
# An integer program of this size can be solved to the proof by other means, and tells how good the answer
# is.

proven = milp(price, integrality=np.ones(60), bounds=(0, 1), constraints=rows)
print(f"{'proven best':>12}  {proven.fun:g}")

figure, axis = plt.subplots(figsize=(6.4, 6), layout="constrained")
chosen = result.x > 0
for centre in sites[chosen]:
    axis.add_patch(plt.Circle(centre, reach, color="#0072B2", alpha=0.10))
axis.plot(*villages.T, ".", color="#555555", markersize=4, label="villages")
axis.plot(*sites[~chosen].T, "s", mfc="none", color="#999999", label="sites")
axis.plot(*sites[chosen].T, "s", color="#D55E00", label="built")
axis.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), aspect="equal")
axis.set_title(f"{chosen.sum()} of 60 sites, price {result.fun:g} (the best is {proven.fun:g})")
axis.legend(loc="upper right", framealpha=0.9)
axis.set_xticks([])
axis.set_yticks([])
plt.show()
