"""Files that must be there, and what is said where they are not."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path


def require_no_directory(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path}: is a directory, not a file")


def require_file(path: Path) -> Path:
    require_no_directory(path)
    if not path.exists():
        near = get_close_matches(path.name, _neighbours(path), n=1)
        raise ValueError(f"{path}: no such file" + (f"; did you mean {near[0]}?" if near else ""))
    return path


def _neighbours(path: Path) -> list[str]:
    try:
        return [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return []
