"""Who is active? A few of many devices send at once; a receiver sees noisy sums of their signatures.

Every device has a signature: the few time slots in which it sends a pulse. The receiver measures how many
pulses fall into each slot, with some noise, and in a few slots a burst of interference. Which devices were
active? The same sums arise in group testing: a slot is a pooled sample, a device a person.

python examples/activity_detection.py
python examples/activity_detection.py --devices 20000 --active 0.02
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp

from dcra.apps.compressed_sensing import recover


def signatures(devices: int, slots: int, pulses: int, rng: np.random.Generator) -> sp.csc_array:
    """A sparse 0-1 matrix, slots x devices, with a fixed number of ones per device."""
    rows = np.concatenate([rng.choice(slots, pulses, replace=False) for _ in range(devices)])
    columns = np.repeat(np.arange(devices), pulses)
    return sp.csc_array((np.ones(rows.size), (rows, columns)), shape=(slots, devices))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=2000)
    parser.add_argument("--slots", type=float, default=0.3, help="slots per device")
    parser.add_argument("--active", type=float, default=0.05, help="share of devices that send")
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation, in pulses")
    parser.add_argument("--bursts", type=int, default=6, help="slots with interference")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    rng = np.random.default_rng(options.seed)
    slots = round(options.slots * options.devices)
    A = signatures(options.devices, slots, 8, rng)
    active = (rng.random(options.devices) < options.active).astype(float)
    y = A @ active + options.noise * rng.standard_normal(slots)
    y[rng.choice(slots, options.bursts, replace=False)] += rng.uniform(5, 20, options.bursts)

    found = recover(A, y, seed=options.seed)
    print(found)
    missed = np.count_nonzero((active == 1) & (found.x == 0))
    false = np.count_nonzero((active == 0) & (found.x == 1))
    print(f"{'truth':>14}  {np.count_nonzero(active)} active, {missed} missed, {false} false alarms")


if __name__ == "__main__":
    main()
