"""
A rota that minds wishes
========================

Twelve people, twenty shifts. Every shift needs somebody, nobody works two shifts in a row, and everybody
would rather be off, some shifts more than others. Rules are hard clauses, wishes soft ones with weights.
"""

# %%
# Variable ``works[p, s]`` says that person p works shift s; a negative number is its negation. A clause is
# a list of which one at least must be true.

import matplotlib.pyplot as plt
import numpy as np

from dcra.apps import maxsat

people, shifts = 12, 20
rng = np.random.default_rng(0)
works = np.arange(1, people * shifts + 1).reshape(people, shifts)
staffed = [works[:, s].tolist() for s in range(shifts)]
rest = [[-int(works[p, s]), -int(works[p, s + 1])] for p in range(people) for s in range(shifts - 1)]
dislike = rng.integers(1, 10, works.shape)
off = [[-int(works[p, s])] for p in range(people) for s in range(shifts)]

# %%
# The cost is the weight of the wishes that are not granted.

answer = maxsat.solve(off, weights=dislike.ravel(), hard=staffed + rest, starts=8, seed=0)
rota = answer.assignment.reshape(people, shifts)
print(answer)
assert answer.feasible

# %%
# Who is asked to do the least disliked shifts? Dots are shifts worked, colours how much a person dislikes
# them.

figure, axis = plt.subplots(figsize=(9, 4.6), layout="constrained")
shown = axis.imshow(dislike, cmap="YlOrRd", vmin=0, vmax=10)
p, s = np.nonzero(rota)
axis.plot(s, p, "o", color="black", markersize=9)
axis.set_xticks(range(shifts), range(1, shifts + 1))
axis.set_yticks(range(people), range(1, people + 1))
axis.set(xlabel="shift", ylabel="person", title=f"wishes not granted weigh {answer.cost:g}")
figure.colorbar(shown, label="dislike", shrink=0.85)
plt.show()
