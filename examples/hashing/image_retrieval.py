"""
Images found again by 24 bits
=============================

Every image gets a code of 24 bits such that images of the same digit have codes that differ in few of
them. Finding similar images is then counting bits.
"""

# %%
# scikit-learn's 1,797 handwritten digits; a tenth of them are queries.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dcra import retrieval
from dcra.apps.hashing import LSH, SupervisedHashing

digits = load_digits()
images, queries, labels, asked = train_test_split(
    digits.data, digits.target, test_size=0.1, random_state=0, stratify=digits.target
)

# %%
# The codes are learned so that labels can be read off them; random planes (LSH) know nothing of labels.

models = {
    "learned": SupervisedHashing(24, random_state=0).fit(images, labels),
    "random planes": LSH(24, random_state=0).fit(images, labels),
}
codes = {name: (model.transform(queries), model.transform(images)) for name, model in models.items()}
for name, (of_queries, of_images) in codes.items():
    scores = retrieval.evaluate(of_queries, of_images, asked, labels)
    print(f"{name:>14}: mean average precision {scores.map:.3f}")

# %%
# Three queries, and the eight images whose codes are nearest: with a frame in red where the digit is
# another.

shown, nearest = [3, 8, 14], 8
figure, axes = plt.subplots(2 * len(shown), nearest + 1, figsize=(8, 6.2), layout="constrained")
for row, query in enumerate(shown):
    for half, name in enumerate(codes):
        of_queries, of_images = codes[name]
        distance = retrieval.hamming_distances(of_queries[query : query + 1], of_images)[0]
        line = axes[2 * row + half]
        pictures = [queries[query], *images[np.argsort(distance, kind="stable")[:nearest]]]
        right = [True, *(labels[np.argsort(distance, kind="stable")[:nearest]] == asked[query])]
        for axis, picture, same in zip(line, pictures, right, strict=True):
            axis.imshow(picture.reshape(8, 8), cmap="Greys")
            axis.set_xticks([])
            axis.set_yticks([])
            for side in axis.spines.values():
                side.set_color("#bbbbbb" if same else "#D1242F")
                side.set_linewidth(0.8 if same else 3)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
axes[0, 0].set_title("query", fontsize=10)
axes[0, 1].set_title("nearest", fontsize=10)
plt.show()
