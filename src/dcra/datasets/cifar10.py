"""CIFAR-10: 60,000 photographs of 32 x 32 pixels in ten classes, as GIST descriptors."""

from __future__ import annotations

import os
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from dcra._array import Host
from dcra.datasets._files import PathLike, Source, corrupt
from dcra.datasets.base import Dataset
from dcra.datasets.gist import gist

ARCHIVE = "cifar-10-binary.tar.gz"
SOURCE = Source(
    "cifar10",
    "https://www.cs.toronto.edu/~kriz/",
    {ARCHIVE: "md5:c32a1d4ab5d03f1284b67883e8d87530"},
    f"Put the original {ARCHIVE}, or a file of features cifar10_gist512_u8.npz, into a folder and name it by "
    "`path`, or into `cifar10` under $DCRA_DATA.",
)
FEATURES = "cifar10_gist512_u8.npz"
RECORD = 1 + 3 * 32 * 32
BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def cifar10(path: PathLike | None = None, *, progress: bool = False) -> Dataset:
    """GIST descriptors (60000, 512), float32, of the five training batches and then the test batch.

    Parameters
    ----------
    path : path, optional
        A folder with the descriptors in `cifar10_gist512_u8.npz`, or with the archive of pixels; by default
        `cifar10` under `DCRA_DATA`, else the archive is downloaded. Descriptors made from pixels (some
        minutes) are kept in the cache.
    progress : bool
        Show a bar on a terminal while they are made.
    """
    folder = SOURCE.folder(path)
    if folder is not None and (folder / FEATURES).is_file():
        return _read_features(folder / FEATURES)
    made = SOURCE.cache() / FEATURES
    if folder is None and made.is_file():
        return _read_features(made)
    pixels, labels = read_archive(SOURCE.find(ARCHIVE, path))
    features = gist(pixels, progress=progress)
    _write_features(made, features, labels)
    return _read_features(made)


def read_archive(path: Path) -> tuple[Host, Host]:
    """Pixels (n, 32, 32, 3) and classes (n,) of the original binary archive."""
    try:
        with tarfile.open(path) as archive:
            members = {os.path.basename(m.name): m for m in archive.getmembers()}
            parts = [_batch(archive.extractfile(members[name]), path) for name in BATCHES]
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
        raise corrupt(path, error) from error
    records = np.concatenate(parts)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pixels, records[:, 0].astype(np.int64)


def _batch(file: Any, path: Path) -> Host:
    data = file.read()
    if not data or len(data) % RECORD:
        raise corrupt(path, f"a batch of {len(data)} bytes is no whole number of records")
    return np.frombuffer(data, np.uint8).reshape(-1, RECORD)


def _read_features(path: Path) -> Dataset:
    """Descriptors as bytes: feature = lo + step * code."""
    try:
        with np.load(path, allow_pickle=False) as data:
            features = data["lo"] + data["step"] * data["codes"]
            labels = data["labels"].astype(np.int64)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise corrupt(path, error) from error
    if features.ndim != 2 or len(features) != len(labels):
        raise corrupt(path, f"features {features.shape} and labels {labels.shape} do not match")
    return Dataset("cifar10", features.astype(np.float32), labels)


def _write_features(path: Path, features: Host, labels: Host) -> None:
    lo = features.min(axis=0)
    step = np.maximum((features.max(axis=0) - lo) / 255, np.finfo(np.float32).tiny)
    codes = np.rint((features - lo) / step).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            np.savez_compressed(
                file, codes=codes, lo=lo.astype(np.float32), step=step.astype(np.float32), labels=labels
            )
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
