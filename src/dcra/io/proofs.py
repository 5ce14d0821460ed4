"""Files of proofs: NumPy archives of the arrays of certificates in `dcra.exact`. Nothing is unpickled."""

from __future__ import annotations

import zipfile
from os import PathLike
from pathlib import Path

from dcra.exact.certificate import from_arrays
from dcra.exact.couplings_certificate import AnyCertificate, pairs_from_arrays
from dcra.io.archive import load


def read_proof(path: str | PathLike[str]) -> AnyCertificate:
    """The proof in a file that `Result.proof` wrote; a ValueError says what is wrong with it."""
    file = Path(path)
    try:
        arrays = load(file)
        return (pairs_from_arrays if "triangles" in arrays else from_arrays)(arrays)
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror or error}") from error
    except (ValueError, zipfile.BadZipFile) as error:
        words = str(error)
        raise ValueError(words if str(file) in words else f"{file}: {words}") from error
