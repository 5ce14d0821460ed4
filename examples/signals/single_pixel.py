"""
A camera with one pixel
=======================

A black-and-white picture is measured by one sensor, which sees sums of the picture under random masks.
How many sums does it take? Far fewer than there are pixels, because a pixel is a bit, and most are off.
"""

# %%
# Four handwritten digits of scikit-learn with a margin, black or white: 400 pixels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from dcra.apps.compressed_sensing import recover

digits = load_digits().images
framed = [np.pad(digits[i], 1) > 7 for i in (2, 0, 2, 6)]
picture = np.block([framed[:2], framed[2:]]).astype(float)
x = picture.ravel()
rng = np.random.default_rng(0)
masks = rng.standard_normal((220, x.size))

# %%
# From 80 to 220 measurements with a little noise, by :func:`~dcra.apps.compressed_sensing.recover` and by
# least squares of smallest norm.

counts = [80, 120, 170, 220]
noisy = masks @ x + 0.1 * rng.standard_normal(220)
found = [recover(masks[:m], noisy[:m], seed=0).x for m in counts]
smooth = [np.linalg.lstsq(masks[:m], noisy[:m])[0] for m in counts]
for m, answer in zip(counts, found, strict=True):
    print(f"{m} measurements: {np.count_nonzero(answer != x)} of {x.size} pixels wrong")

# %%
# The picture, and what each number of measurements gives.

figure, axes = plt.subplots(2, len(counts) + 1, figsize=(10, 4.2), layout="constrained")
axes[0, 0].imshow(picture, cmap="Greys")
axes[0, 0].set_title(f"{x.size} pixels")
axes[1, 0].imshow(masks[0].reshape(picture.shape), cmap="Greys")
axes[1, 0].set_title("one mask")
for column, m in enumerate(counts):
    for row, answers in enumerate((found, smooth)):
        axes[row, column + 1].imshow(answers[column].reshape(picture.shape), cmap="Greys", vmin=0, vmax=1)
    axes[0, column + 1].set_title(f"{m} measurements")
axes[0, 1].set_ylabel("over bits")
axes[1, 1].set_ylabel("least squares")
for axis in axes.flat:
    axis.set_xticks([])
    axis.set_yticks([])
plt.show()
