"""
What a residual costs
=====================

The losses of `dcra.losses` as functions of one residual u = (Ax - b)_i. They decide which rows pull, and
how hard: a squared loss minds large residuals most, l1 minds all alike, a capped one forgets the
hopeless.
"""

# %%
# Every loss is an object with a value; the last axis of its argument runs over rows. Here each point of the
# curve is a problem of one row.

import matplotlib.pyplot as plt
import numpy as np

from dcra import losses

u = np.linspace(-3, 3, 601)
shown = {
    "l1": losses.L1(),
    "squared": losses.SquaredL2(),
    "Huber(1)": losses.Huber(1.0),
    "CappedL1(1.5)": losses.CappedL1(1.5),
    "EpsilonInsensitive(1)": losses.EpsilonInsensitive(1.0),
    "hinge": losses.Hinge(),
    "Quantile(0.8)": losses.Quantile(0.8),
    "logistic": losses.Logistic(),
}

# %%
# Above, what counts on both sides; below, where the sign of the residual matters.

figure, axes = plt.subplots(2, 4, figsize=(10, 4.6), sharex=True, sharey=True, layout="constrained")
for axis, (name, loss) in zip(axes.flat, shown.items(), strict=True):
    axis.plot(u, loss.value(u[:, None]), color="#0072B2", linewidth=2.2)
    axis.set_title(name, fontsize=11)
    axis.set_ylim(0, 3.2)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
figure.supxlabel("residual u")
figure.supylabel("cost")
plt.show()
