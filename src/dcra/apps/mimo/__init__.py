"""MIMO detection: which symbols were sent through a known channel with noise.

minimise |y - H s|^2 (or an l1 or Huber loss of the parts) over symbols s of a constellation.
"""

from dcra.apps.mimo.alphabets import Alphabet, alphabet
from dcra.apps.mimo.channels import (
    Frames,
    correlated_channel,
    gaussian_noise,
    iid_channel,
    impulsive_noise,
    noise_variance,
    transmit,
)
from dcra.apps.mimo.constellations import CONSTELLATIONS, Constellation
from dcra.apps.mimo.detect import Detection, detect
from dcra.apps.mimo.model import Received, received
from dcra.apps.mimo.rivals import RIVALS, rival
from dcra.apps.mimo.robust import as_problem

__all__ = [
    "CONSTELLATIONS",
    "RIVALS",
    "Alphabet",
    "Constellation",
    "Detection",
    "Frames",
    "Received",
    "alphabet",
    "as_problem",
    "correlated_channel",
    "detect",
    "gaussian_noise",
    "iid_channel",
    "impulsive_noise",
    "noise_variance",
    "received",
    "rival",
    "transmit",
]
