"""MNIST: 70,000 handwritten digits of 28 x 28 pixels."""

from __future__ import annotations

import gzip
import zlib
from math import prod
from pathlib import Path

import numpy as np

from dcra._array import Host
from dcra.datasets._files import PathLike, Source, corrupt
from dcra.datasets.base import Dataset

SOURCE = Source(
    "mnist",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    {
        "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    },
    "Put the four original files *-ubyte.gz into a folder and name it by `path`, or into `mnist` under "
    "$DCRA_DATA.",
)
UNSIGNED_BYTES = 8
MOST_BYTES = 1 << 29
"""Ten times what the largest file has."""


def mnist(path: PathLike | None = None) -> Dataset:
    """The 60,000 training images, then the 10,000 test images: features (70000, 784), uint8.

    Parameters
    ----------
    path : path, optional
        The folder of the four original files; by default `mnist` under `DCRA_DATA`, else a download.
    """
    images, labels = [], []
    for part in ("train", "t10k"):
        images.append(read_idx(SOURCE.find(f"{part}-images-idx3-ubyte.gz", path), 3))
        labels.append(read_idx(SOURCE.find(f"{part}-labels-idx1-ubyte.gz", path), 1))
    pixels = np.concatenate(images)
    return Dataset("mnist", pixels.reshape(len(pixels), -1), np.concatenate(labels).astype(np.int64))


def read_idx(path: Path, ndim: int) -> Host:
    """A gzipped idx file of bytes: two zeros, the type, the number of axes, their lengths, the data."""
    try:
        with gzip.open(path) as file:
            head = file.read(4 + 4 * ndim)
            if len(head) < 4 + 4 * ndim or head[:4] != bytes([0, 0, UNSIGNED_BYTES, ndim]):
                raise corrupt(path, f"no idx header of {ndim} axes")
            shape = tuple(int(n) for n in np.frombuffer(head, ">u4", ndim, 4))
            if prod(shape) > MOST_BYTES:
                raise corrupt(path, f"its header promises {prod(shape)} bytes")
            data = file.read(prod(shape) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise corrupt(path, error) from error
    if len(data) != prod(shape):
        raise corrupt(path, f"{len(data)} bytes, or more, for shape {shape}")
    return np.frombuffer(data, np.uint8).reshape(shape)
