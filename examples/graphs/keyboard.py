"""
A keyboard for English
======================

Which letter goes on which key? Letters that often follow each other should lie close together, and
frequent ones near the middle row: letters are facilities, keys are places, and the way of the finger is a
quadratic assignment.
"""

# %%
# How often one letter follows another, counted in the texts that describe scikit-learn's data sets.

import string

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets

from dcra.apps.qap import assignment_cost, qap

text = "".join(load().DESCR for load in (datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer))
letters = string.ascii_lowercase
flow = np.zeros((26, 26))
for first, second in zip(text.lower(), text.lower()[1:], strict=False):
    if first in letters and second in letters:
        flow[letters.index(first), letters.index(second)] += 1

# %%
# Three rows of keys, each a little further right than the one above, as on most keyboards.

rows = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]
keys = np.array(
    [(column + shift, -row) for row, shift in enumerate((0, 0.25, 0.75)) for column in range(len(rows[row]))]
)
distance = np.hypot(*(keys[:, None] - keys[None, :]).transpose(2, 0, 1))

# %%
# Tabu search over swaps, against the keyboard that everybody has.

found = qap(flow, distance, starts=8, seed=0)
usual = np.array(["".join(rows).index(letter) for letter in letters])
per_pair = flow.sum()
ways = {
    "QWERTY": (usual, assignment_cost(flow, distance, usual) / per_pair),
    "searched": (found.permutation, found.cost / per_pair),
}
for name, (_, cost) in ways.items():
    print(f"{name:>9}: {cost:.2f} keys from one letter to the next")

# %%
# Darker keys are hit more often.

often = flow.sum(axis=0) + flow.sum(axis=1)
figure, axes = plt.subplots(2, 1, figsize=(7, 5.4), layout="constrained")
for axis, (name, (place, cost)) in zip(axes, ways.items(), strict=True):
    for letter in range(26):
        x, y = keys[place[letter]]
        share = often[letter] / often.max()
        axis.add_patch(plt.Rectangle((x, y), 0.92, 0.92, color=plt.cm.Blues(0.1 + 0.8 * share)))
        dark = "white" if share > 0.55 else "black"
        axis.text(x + 0.46, y + 0.46, letters[letter], ha="center", va="center", fontsize=14, color=dark)
    axis.set(xlim=(-0.2, 10.2), ylim=(-2.2, 1.2), aspect="equal", title=f"{name}: {cost:.2f} keys per step")
    axis.axis("off")
plt.show()
