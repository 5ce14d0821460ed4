"""Where data lies: a folder that was named, `DCRA_DATA`, or a cache that is filled by download."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Source:
    """Files of a data set, and where they can be had.

    Parameters
    ----------
    name : str
        Of the data set, and of its folder under `DCRA_DATA`.
    base_url : str
        Where the files lie; empty where they cannot be downloaded.
    registry : mapping
        Checksum 'algorithm:digest' of each file.
    hint : str
        How to get the files by hand.
    """

    name: str
    base_url: str
    registry: Mapping[str, str]
    hint: str

    def folder(self, path: PathLike | None) -> Path | None:
        """The folder that is to hold the files, or None where they would have to be downloaded."""
        if path is not None:
            return Path(path)
        root = os.environ.get("DCRA_DATA")
        folder = Path(root, self.name) if root else None
        return folder if folder is not None and folder.is_dir() else None

    def find(self, file: str, path: PathLike | None) -> Path:
        """The path of a file, downloaded where it has to be."""
        folder = self.folder(path)
        if folder is None:
            return self.download(file)
        found = folder / file
        if not found.is_file():
            raise FileNotFoundError(
                f"{self.name}: no file {file!r} in the folder {str(folder)!r}. {self.hint}"
            )
        return found

    def download(self, file: str) -> Path:
        """A file of the cache, fetched once; nothing is kept that does not match its checksum."""
        if not self.base_url:
            raise FileNotFoundError(f"{self.name}: {file!r} cannot be downloaded. {self.hint}")
        try:
            import pooch
        except ImportError as error:
            raise ImportError(
                f"downloading {self.name} needs pooch: pip install 'dcra[hashing]'. {self.hint}"
            ) from error
        try:
            fetched = pooch.retrieve(
                self.base_url + file,
                known_hash=self.registry[file],
                fname=file,
                path=self.cache(),
                progressbar=False,
            )
        except OSError as error:
            raise ConnectionError(
                f"{self.name}: {file!r} could not be downloaded from {self.base_url} ({error}). {self.hint}"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"{self.name}: what came from {self.base_url}{file} does not match its checksum; it was not "
                f"kept. {self.hint}"
            ) from error
        return Path(fetched)

    def cache(self) -> Path:
        """The folder that downloads go to."""
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(root, "dcra", self.name)


def corrupt(path: Path, why: object) -> ValueError:
    """The error for a file that is not what its name says."""
    if isinstance(why, ValueError) and str(why).startswith(repr(str(path))):
        return why
    return ValueError(f"{str(path)!r} is damaged or of another kind ({why}); delete it and get it again")
