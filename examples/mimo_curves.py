"""Bit error rates over SNR through a correlated channel: `mimo.detect` against MMSE, EP and K-best.

python examples/mimo_curves.py --antennas 16 --frames 200
"""

from __future__ import annotations

import argparse

import numpy as np

from dcra.apps import mimo

RIVALS = ("mmse", "ep", "k-best")


def rates(H: np.ndarray, snr: float, frames: int, rng: np.random.Generator) -> dict[str, float]:
    """Share of wrong bits by method."""
    sent = mimo.transmit(H, snr, "qpsk", frames=frames, rng=rng)
    model, _ = mimo.received(sent.H, sent.y, "qpsk", sent.noise)
    found = {name: mimo.rival(name)(model) for name in RIVALS}
    for name, soft in (("detect", False), ("detect, soft", True)):
        symbols = mimo.detect(sent.H, sent.y, sent.noise, "qpsk", soft=soft, seed=0).symbols
        found[name] = model.constellation.levels(symbols.T)
    return {name: float(np.mean(levels != sent.levels)) for name, levels in found.items()}


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("--antennas", type=int, default=16)
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--rho", type=float, default=0.7, help="correlation of neighbouring antennas")
    parser.add_argument("--snr", type=float, nargs="+", default=[4, 8, 12, 16], help="in dB")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    H = mimo.correlated_channel(options.antennas, options.antennas, options.rho, rng)
    for i, snr in enumerate(options.snr):
        row = rates(H, snr, options.frames, rng)
        if i == 0:
            print("SNR dB" + "".join(f"{name:>12}" for name in row))
        print(f"{snr:6g}" + "".join(f"{value:12.5f}" for value in row.values()))


if __name__ == "__main__":
    main()
