"""
A sentence through a channel that lies
======================================

A sentence is sent as real numbers: 1.5 sums of its bits with random weights for each bit. On the way a
share of the numbers is replaced by something else altogether. Nobody knows which. Absolute values find
the bits all the same, because the lies do not agree with each other.
"""

# %%
# The message as bits, the code as a random matrix.

import matplotlib.pyplot as plt
import numpy as np

import dcra

sentence = "The best way out is through."
bits = np.unpackbits(np.frombuffer(sentence.encode(), np.uint8)).astype(float)
rng = np.random.default_rng(0)
code = rng.standard_normal((3 * bits.size // 2, bits.size))


def read(x):
    text = np.packbits((x > 0.5).astype(np.uint8)).tobytes().decode("latin-1")
    return "".join(letter if letter.isprintable() else "·" for letter in text)


# %%
# Decoding by l1 over {0,1}, and by least squares and rounding.


def sent(share):
    received = code @ bits + 0.05 * rng.standard_normal(len(code))
    lies = rng.choice(len(code), round(share * len(code)), replace=False)
    received[lies] = 12 * rng.standard_normal(lies.size)
    return received


shares = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
wrong = {"l1 over bits": [], "least squares, rounded": []}
for share in shares:
    received = sent(share)
    decoded = dcra.minimize(code, received, loss="l1", domain="binary", starts=2, seed=0).x
    rounded = (np.linalg.lstsq(code, received)[0] > 0.5).astype(float)
    for name, x in zip(wrong, (decoded, rounded), strict=True):
        wrong[name].append(np.mean(x != bits))
    print(f"{share:4.0%} lies   {read(decoded)}   {read(rounded)}")

# %%
# The error rate by the share of numbers that were replaced.

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.plot(100 * np.array(shares), 100 * np.array(wrong["l1 over bits"]), "o-", color="#0072B2", linewidth=2)
axis.plot(100 * np.array(shares), 100 * np.array(wrong["least squares, rounded"]), "s--", color="#D55E00")
axis.legend(list(wrong), frameon=False)
axis.set(
    xlabel="numbers replaced (%)", ylabel="bits wrong (%)", title=f"{bits.size} bits in {len(code)} numbers"
)
axis.spines[["top", "right"]].set_visible(False)
axis.grid(alpha=0.3)
plt.show()
