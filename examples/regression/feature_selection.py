"""
Features on and off
===================

Which eight of thirty measurements of a tumour are worth taking? A feature is relevant where it goes with
the diagnosis, and redundant where it goes with another one that is already taken. Relevance is a linear
term, redundancy a quadratic one, the eight a count.
"""

# %%
# The Wisconsin data on breast cancer: thirty features of 569 cell nuclei, many of them nearly copies of
# each other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dcra

data = load_breast_cancer()
n = data.data.shape[1]
correlation = np.abs(np.corrcoef(data.data.T, data.target))
relevance, redundancy = correlation[:n, n], correlation[:n, :n] - np.eye(n)

# %%
# minimise  x'Rx / k - r'x  over x in {0,1}, exactly k of them 1.


def selected(k):
    problem = dcra.Problem(
        linear=-relevance, quadratic=redundancy / k, domain="binary", constraints=dcra.exactly(k)
    )
    return np.flatnonzero(dcra.solve(problem, starts=8, seed=0).x)


chosen = selected(8)
best_alone = np.argsort(relevance)[-8:]
for feature in chosen:
    print(data.feature_names[feature])

# %%
# The eight most relevant ones alone say the same thing eight times over. How good is a plain classifier on
# each?


def score(features):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return cross_val_score(model, data.data[:, features], data.target, cv=5).mean()


counts = [1, 2, 3, 4, 6, 8, 12, 16]
together = [score(selected(k)) for k in counts]
alone = [score(np.argsort(relevance)[-k:]) for k in counts]

# %%
# The chosen set has less in common with itself, and from six features on it predicts better.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", width_ratios=[1, 1, 1.35])
for axis, features, title in (
    (axes[0], best_alone, "most relevant alone"),
    (axes[1], chosen, "chosen together"),
):
    shown = axis.imshow(correlation[np.ix_(features, features)], vmin=0, vmax=1, cmap="Blues")
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])
figure.colorbar(shown, ax=axes[:2], shrink=0.8, label="|correlation|", location="bottom")
axes[2].plot(counts, together, "o-", color="#0072B2", linewidth=2, label="chosen together")
axes[2].plot(counts, alone, "s--", color="#777777", label="most relevant alone")
axes[2].set(xlabel="features", ylabel="cross-validated accuracy")
axes[2].legend(frameon=False)
axes[2].spines[["top", "right"]].set_visible(False)
plt.show()
