"""CIFAR-10: 60,000 photographs of 32 x 32 pixels in ten classes, as GIST descriptors."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
import warnings
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
MOST_RECORDS = 100_000
BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def cifar10(path: PathLike | None = None, *, progress: bool = False) -> Dataset:
    """GIST descriptors (60000, 512), float32, of the five training batches and then the test batch.

    Parameters
    ----------
    path : path, optional
        A folder with the descriptors in `cifar10_gist512_u8.npz`, or with the archive of pixels; by default
        `cifar10` under `DCRA_DATA`, else the archive is downloaded. Descriptors made from pixels (some
        minutes) are kept in the cache, under the checksum of the archive.
    progress : bool
        Show a bar on a terminal while they are made.
    """
    folder = SOURCE.folder(path)
    if folder is not None and (folder / FEATURES).is_file():
        return _read_features(folder / FEATURES)
    known = _made_from(SOURCE.registry[ARCHIVE].partition(":")[2])
    kept = _kept(known) if folder is None else None
    if kept is not None:
        return kept
    archive = SOURCE.find(ARCHIVE, path)
    made = _made_from(_digest(archive))
    kept = _kept(made)
    if kept is not None:
        return kept
    pixels, labels = read_archive(archive)
    codes = _codes(gist(pixels, progress=progress))
    _keep(made, {**codes, "labels": labels})
    return _dataset(made, {**codes, "labels": labels})


def _made_from(digest: str) -> Path:
    """Where descriptors of an archive are kept: under its checksum, so that no other's are taken for them."""
    return SOURCE.cache() / f"cifar10_gist512_u8-{digest[:16]}.npz"


def _digest(archive: Path) -> str:
    with archive.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _kept(path: Path) -> Dataset | None:
    """Descriptors of the cache; None where there are none, or damaged ones, which are then made again."""
    try:
        return _read_features(path) if path.is_file() else None
    except (ValueError, OSError):
        return None


def _keep(path: Path, arrays: dict[str, Host]) -> None:
    """Put descriptors into the cache; where that cannot be, they are made again next time."""
    try:
        _write_features(path, arrays)
    except OSError as error:
        warnings.warn(f"{path}: the descriptors could not be kept ({error.strerror or error})", stacklevel=3)


def read_archive(path: Path) -> tuple[Host, Host]:
    """Pixels (n, 32, 32, 3) and classes (n,) of the original binary archive."""
    try:
        with tarfile.open(path) as archive:
            members = {os.path.basename(m.name): m for m in archive.getmembers()}
            parts = [_batch(archive, members[name], path) for name in BATCHES]
    except KeyError as error:
        raise corrupt(path, f"there is no {error} in it") from error
    except Exception as error:  # the reader of damaged archives raises whatever it stumbles over
        raise corrupt(path, error) from error
    records = np.concatenate(parts)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return pixels, records[:, 0].astype(np.int64)


def _batch(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> Host:
    if member.size > MOST_RECORDS * RECORD:
        raise corrupt(
            path, f"a batch of {member.size} bytes; there are at most {MOST_RECORDS} records in one"
        )
    file = archive.extractfile(member)
    data = b"" if file is None else file.read()
    if not data or len(data) % RECORD:
        raise corrupt(path, f"a batch of {len(data)} bytes is no whole number of records")
    return np.frombuffer(data, np.uint8).reshape(-1, RECORD)


def _read_features(path: Path) -> Dataset:
    """Descriptors as bytes: feature = lo + step * code."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            return _dataset(path, {name: data[name] for name in ("codes", "lo", "step", "labels")})
    except Exception as error:  # the reader of damaged archives raises whatever it stumbles over
        raise corrupt(path, error) from error


def _dataset(path: Path, arrays: dict[str, Host]) -> Dataset:
    codes, labels = arrays["codes"], arrays["labels"].astype(np.int64)
    if codes.ndim != 2 or labels.shape != (len(codes),):
        raise corrupt(path, f"features {codes.shape} and labels {labels.shape} do not match")
    features = arrays["lo"] + arrays["step"] * codes
    return Dataset("cifar10", features.astype(np.float32), labels)


def _codes(features: Host) -> dict[str, Host]:
    lo = features.min(axis=0)
    step = np.maximum((features.max(axis=0) - lo) / 255, np.finfo(np.float32).tiny)
    codes = np.rint((features - lo) / step).astype(np.uint8)
    return {"codes": codes, "lo": lo.astype(np.float32), "step": step.astype(np.float32)}


def _write_features(path: Path, arrays: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            np.savez_compressed(file, **arrays)
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
