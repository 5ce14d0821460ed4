"""Supervised hashing: binary codes from labelled data, and a hash function for what comes later."""

from __future__ import annotations

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("dcra.apps.hashing needs scikit-learn: pip install 'dcra[hashing]'") from error

from dcra.apps.hashing.codewords import separated_codewords
from dcra.apps.hashing.estimator import SupervisedHashing
from dcra.apps.hashing.features import AnchorKernel
from dcra.apps.hashing.peers import FSDH, ITQ, LSH, SDH, ClassCodewords

__all__ = [
    "FSDH",
    "ITQ",
    "LSH",
    "SDH",
    "AnchorKernel",
    "ClassCodewords",
    "SupervisedHashing",
    "separated_codewords",
]
