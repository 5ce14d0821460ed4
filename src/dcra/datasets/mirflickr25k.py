"""MIRFLICKR-25K: photographs with tags and several labels each."""

from __future__ import annotations

import numpy as np

from dcra._array import Host
from dcra.datasets._files import PathLike, Source, corrupt
from dcra.datasets.base import Dataset

SOURCE = Source(
    "mirflickr25k",
    "",
    {},
    "It is the selection of 20,015 images that cross-modal hashing uses: put mirflickr25k-yall.mat (tags "
    "`YAll`) and mirflickr25k-lall.mat (labels `LAll`) into a folder and name it by `path`, or into "
    "`mirflickr25k` under $DCRA_DATA.",
)


def mirflickr25k(path: PathLike | None = None) -> Dataset:
    """Tags of 20,015 images, (20015, 1386) of 0 and 1, and their labels (20015, 24).

    Parameters
    ----------
    path : path, optional
        The folder of the two files; by default `mirflickr25k` under `DCRA_DATA`.
    """
    tags = _matrix("mirflickr25k-yall.mat", "YAll", path)
    labels = _matrix("mirflickr25k-lall.mat", "LAll", path)
    if len(tags) != len(labels):
        raise ValueError(f"mirflickr25k: {len(tags)} rows of tags but {len(labels)} rows of labels")
    return Dataset("mirflickr25k", tags, labels)


def _matrix(file: str, variable: str, path: PathLike | None) -> Host:
    from scipy.io import loadmat

    found = SOURCE.find(file, path)
    try:
        matrix = np.asarray(loadmat(found)[variable])
    except Exception as error:  # the reader of foreign files raises whatever it stumbles over
        raise corrupt(found, error) from error
    if matrix.ndim != 2 or not np.all((matrix == 0) | (matrix == 1)):
        raise corrupt(found, f"`{variable}` is not a matrix of 0 and 1")
    return matrix.astype(np.uint8)
