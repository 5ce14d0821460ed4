"""
Who is sending?
===============

A few of many devices send at once, and a receiver sees noisy sums of their signatures: the few time slots
in which each sends a pulse. In some slots there is a burst of interference. The same sums arise in group
testing: a slot is a pooled sample, a device a person.
"""

# %%
# Two thousand devices, 600 slots, eight pulses each: far fewer measurements than unknowns.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from dcra.apps.compressed_sensing import recover

devices, slots, pulses = 2000, 600, 8
rng = np.random.default_rng(0)
places = np.concatenate([rng.choice(slots, pulses, replace=False) for _ in range(devices)])
owners = np.repeat(np.arange(devices), pulses)
A = sp.csc_array((np.ones(places.size), (places, owners)), shape=(slots, devices))

# %%
# One device in twenty is active; the receiver has noise, and six slots are hit by bursts.

active = (rng.random(devices) < 0.05).astype(float)
y = A @ active + 0.1 * rng.standard_normal(slots)
burst = rng.choice(slots, 6, replace=False)
y[burst] += rng.uniform(5, 20, 6)

found = recover(A, y, seed=0)
print(found)
missed = np.count_nonzero((active == 1) & (found.x == 0))
false = np.count_nonzero((active == 0) & (found.x == 1))
print(f"{'truth':>14}  {np.count_nonzero(active)} active, {missed} missed, {false} false alarms")

# %%
# What was received, against what the devices that were found explain: the bursts stand alone.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
explained = A @ found.x
good = np.setdiff1d(np.arange(slots), burst)
left.plot(explained[good] + rng.uniform(-0.12, 0.12, good.size), y[good], ".", color="#0072B2", label="slots")
left.plot(explained[burst], y[burst], "x", color="#D55E00", markersize=8, label="bursts")
left.set(xlabel="pulses of the devices found", ylabel="received")
left.legend(frameon=False)
correlation = A.T @ y / pulses
right.hist(correlation[active == 0], 40, color="#bbbbbb", label="silent")
right.hist(correlation[active == 1], 20, color="#0072B2", alpha=0.8, label="active")
right.set(xlabel="mean of the slots of a device", ylabel="devices", yscale="log")
right.set_title("one device at a time, they cannot be told apart", fontsize=10)
right.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()
