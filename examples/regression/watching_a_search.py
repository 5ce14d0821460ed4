"""
How a search went
=================

What came when: a result carries the history of its objective and its lower bound. Where the two lines
meet, the answer is proven; where they do not, the distance says how much better any answer can be.
"""

# %%
# Two problems of the same size. In the first there is an answer to find, 150 hidden bits behind noise and
# gross errors; in the second there is none, the numbers are noise alone.

import matplotlib.pyplot as plt
import numpy as np

import dcra

rng = np.random.default_rng(0)
A = rng.standard_normal((250, 150))
hidden = rng.choice([-1.0, 1.0], 150)
signal = A @ hidden + 2 * rng.standard_normal(250)
signal[:75] += 50 * rng.standard_normal(75)
noise = np.sqrt(150) * rng.standard_normal(250)

results = [dcra.minimize(A, b, starts=16, seed=0) for b in (signal, noise)]
for result in results:
    print(result, end="\n\n")

# %%
# :meth:`~dcra.Result.plot` draws into axes of yours.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
for axis, result, name in zip(axes, results, ("an answer to find", "pure noise"), strict=True):
    result.plot(axis)
    axis.set_title(f"{name}: {result.status.value}, gap {result.gap:.0%}")
plt.show()
