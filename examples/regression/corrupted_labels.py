"""
Signs for a model, from corrupted labels
========================================

Unit weights are hard to beat where data is scarce or dirty: each feature counts for or against, all of
them equally. Here the signs are learned from measurements of 442 diabetes patients after every fifth
label was replaced by a gross error, by absolute values and by least squares.
"""

# %%
# Ten measurements of each patient, made comparable, and how far the disease had gone a year later. A fifth
# of the labels is wrong by several hundred points, always towards "better than it is".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from dcra.apps import BinaryRegressor

data = load_diabetes()
X = StandardScaler().fit_transform(data.data)
X_train, X_test, y_train, y_test = train_test_split(X, data.target, test_size=0.5, random_state=0)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y_train), len(y_train) // 5, replace=False)
dirty = y_train.copy()
dirty[wrong] = -20 * np.abs(X_train[wrong].sum(axis=1)) - 300

# %%
# :class:`~dcra.apps.BinaryRegressor` fits signs, one scale for all of them and an intercept.

robust = BinaryRegressor("l1", scale="fit", fit_intercept=True, starts=8, random_state=0).fit(X_train, dirty)
squares = BinaryRegressor("squared", scale="fit", fit_intercept=True, starts=8, random_state=0).fit(
    X_train, dirty
)
free = LinearRegression().fit(X_train, dirty)

# %%
# How well do they predict patients they have not seen, whose labels are right? The middle half of the
# errors says it.


def errors(model):
    return np.abs(model.predict(X_test) - y_test)


models = {"signs, l1": robust, "signs, squares": squares, "free weights, squares": free}
for name, model in models.items():
    print(f"{name:>22}: median error {np.median(errors(model)):.1f}")

# %%
# Least squares follows the corrupted rows; l1 does not, and says which rows they are.

found = robust.outliers(X_train, dirty, factor=3.0)
print(f"{np.isin(found.rows, wrong).sum()} of {len(wrong)} corrupted rows are reported")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.3])
left.boxplot(
    [errors(model) for model in models.values()], orientation="horizontal", widths=0.55, showfliers=False
)
left.set_yticks([1, 2, 3], models)
left.invert_yaxis()
left.set_xlabel("error on unseen patients")
residual = dirty - robust.predict(X_train)
good = np.setdiff1d(np.arange(len(dirty)), wrong)
right.plot(good, residual[good], "o", color="#0072B2", markersize=4, label="as measured")
right.plot(wrong, residual[wrong], "x", color="#D55E00", markersize=5, label="corrupted")
right.plot(found.rows, residual[found.rows], "o", mfc="none", mec="#555555", markersize=9, label="reported")
right.set(xlabel="patient", ylabel="label less prediction", title="the fit by absolute values")
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
