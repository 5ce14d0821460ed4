"""
Symbols through a crowded channel
=================================

Sixteen antennas send, sixteen receive, and neighbours hear nearly the same. Which symbols were sent? Bit
error rates over the signal-to-noise ratio: linear detection, expectation propagation and K-best against
:func:`~dcra.apps.mimo.detect`.
"""

# %%
# A channel with correlated antennas, and what each detector makes of the same frames.

import matplotlib.pyplot as plt
import numpy as np

from dcra.apps import mimo

rng = np.random.default_rng(0)
H = mimo.correlated_channel(16, 16, 0.7, rng)


def rates(snr, frames=200):
    """Share of wrong bits by detector."""
    sent = mimo.transmit(H, snr, "qpsk", frames=frames, rng=rng)
    model, _ = mimo.received(sent.H, sent.y, "qpsk", sent.noise)
    levels = {name: mimo.rival(name)(model) for name in ("mmse", "ep", "k-best")}
    found = mimo.detect(sent.H, sent.y, sent.noise, "qpsk", seed=0)
    levels["detect"] = model.constellation.levels(found.symbols.T)
    return {name: np.mean(one != sent.levels) for name, one in levels.items()}


# %%
# Each point is 200 frames of 32 bits.

ratios = np.array([4, 7, 10, 13, 16])
measured = [rates(snr) for snr in ratios]
print("SNR dB" + "".join(f"{name:>10}" for name in measured[0]))
for snr, row in zip(ratios, measured, strict=True):
    print(f"{snr:6}" + "".join(f"{value:10.5f}" for value in row.values()))

# %%
# K-best and `detect` lie on each other here: both find the likeliest frame nearly always, and `detect` can
# prove it.

figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
styles = {
    "mmse": ("v:", "#777777"),
    "ep": ("^--", "#E69F00"),
    "k-best": ("s-", "#009E73"),
    "detect": ("o-", "#0072B2"),
}
FRAME = {name: {"mfc": "none", "markersize": 11} if name == "k-best" else {} for name in styles}
for name, (style, colour) in styles.items():
    values = np.array([row[name] for row in measured])
    axis.semilogy(
        ratios[values > 0], values[values > 0], style, color=colour, linewidth=2, label=name, **FRAME[name]
    )
axis.set(xlabel="SNR (dB)", ylabel="bit error rate", title="QPSK, 16 x 16 antennas, correlation 0.7")
axis.grid(alpha=0.3, which="both")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
plt.show()
