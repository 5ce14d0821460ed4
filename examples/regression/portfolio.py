"""
A portfolio of yes-or-no bets
=============================

Forty projects, each taken or left. What they earn depends on how the year goes: 400 scenarios are known
from a model. The fund must be spent, and losses hurt: of two portfolios with the same mean, the one that
falls below its target less often and less deeply is better. A shortfall is a hinge of a row.
"""

# %%
# Earnings by three things that move all projects together (demand, rates, weather) and luck of their own;
# prices in whole units of money.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import LinearConstraint

import dcra

rng = np.random.default_rng(3)
n, scenarios, money = 40, 400, 100
price = rng.integers(3, 12, n)
exposure = rng.normal(size=(n, 3)) * [2.0, 1.2, 0.8]
earned = (
    0.12 * price + 0.35 * rng.normal(size=(scenarios, 3)) @ exposure.T + 0.4 * rng.normal(size=(scenarios, n))
)

# %%
# minimise  - mean + risk * mean shortfall below the target, over sets of projects that cost at most 100. As
# a loss: the hinge of target - earned x, one row for each scenario.

target = 8.0
budget = LinearConstraint(price[None, :].astype(float), 0.8 * money, money)


def portfolio(risk):
    terms = [dcra.Term("hinge", -earned, np.full(scenarios, -target), weight=risk / scenarios)]
    problem = dcra.Problem(terms, linear=-earned.mean(axis=0), domain="binary", constraints=budget)
    return dcra.solve(problem, starts=8, seed=0)


risks = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0]
results = [portfolio(risk) for risk in risks]
assert all(result.feasible for result in results)
outcome = [earned @ result.x for result in results]
for risk, result, gains in zip(risks, results, outcome, strict=True):
    shortfall = np.maximum(target - gains, 0).mean()
    spread = f"mean {gains.mean():.1f}, mean shortfall {shortfall:.2f}"
    print(f"risk {risk:3}: {int(result.x.sum())} projects, {spread}")

# %%
# A little less on average buys a much narrower spread. Random sets of the same price are far off.


def points(many):
    return [np.maximum(target - gains, 0).mean() for gains in many], [gains.mean() for gains in many]


random = []
while len(random) < 300:
    x = (rng.random(n) < 0.35).astype(float)
    if 0.8 * money <= price @ x <= money:
        random.append(earned @ x)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(*points(random), ".", color="#bbbbbb", label="random sets that cost as much")
left.plot(*points(outcome), "o-", color="#0072B2", label="chosen, by weight of risk")
left.set(xlabel="mean shortfall below the target", ylabel="mean earnings")
left.legend(frameon=False, loc="lower right")
bins = np.linspace(-15, 35, 50)
right.hist(outcome[0], bins, color="#E69F00", alpha=0.6, label="risk 0")
right.hist(outcome[-1], bins, color="#0072B2", alpha=0.6, label="risk 8")
right.axvline(target, color="black", linewidth=1, linestyle=":")
right.text(target, right.get_ylim()[1], " target", va="top")
right.set(xlabel="earnings of a scenario", ylabel="scenarios")
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
