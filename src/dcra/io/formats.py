"""The table of formats, and the two calls that look into it.

A format is a module of its own with `read(path, b) -> Problem` and `write(path, problem)`, and a line in
`FORMATS`. Whatever such a module finds wrong leaves `read` as a ValueError that names the file.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from dcra.io.damage import complaint, naming
from dcra.io.limits import limited
from dcra.io.paths import require_file, require_no_directory, spooled
from dcra.io.text import parse_loss
from dcra.losses import Loss
from dcra.messages import suggest
from dcra.model.problem import DOMAINS, Problem
from dcra.model.term import Term

FORMATS: dict[str, str] = {
    "npz": "dcra.io.npz",
    "mtx": "dcra.io.mtx",
    "mtx.gz": "dcra.io.mtx",
    "mps": "dcra.io.mps",
    "mps.gz": "dcra.io.mps",
    "lp": "dcra.io.mps",
    "cnf": "dcra.io.dimacs",
    "cnf.gz": "dcra.io.dimacs",
    "cnf.xz": "dcra.io.dimacs",
    "wcnf": "dcra.io.wcnf",
    "wcnf.gz": "dcra.io.wcnf",
    "wcnf.xz": "dcra.io.wcnf",
    "rudy": "dcra.io.rudy",
    "sparse": "dcra.io.biqmac",
    "qubo": "dcra.io.qubo",
    "coo": "dcra.io.coo",
    "qaplib": "dcra.io.qaplib",
    "marketsplit": "dcra.io.marketsplit",
}
"""Module of each format."""

ALIASES: dict[str, str] = {"rud": "rudy", "mc": "rudy"}
"""Extensions of files that are not the format's name; .gz may follow. Files of any other are looked into."""

OPEN = ("npz", "mtx", "mtx.gz", "marketsplit")
"""Formats of residuals, which any loss may judge. The others say themselves what their numbers mean: clauses,
cuts, permutations; there is no other loss or domain for these."""

TEXT = ("txt", "csv", "tsv")
"""Extensions that say nothing of a format: no other is taken for what was meant."""

PathLike = str | os.PathLike[str]


def read(
    path: PathLike,
    format: str | None = None,
    *,
    b: PathLike | None = None,
    loss: str | Loss | None = None,
    domain: str | None = None,
    max_bytes: int | None = None,
    max_size: int | None = None,
) -> Problem:
    """Read a problem from a file.

    Parameters
    ----------
    path : str or path
        "-" is standard input. Directories, devices and pipes are refused.
    format : str, optional
        "npz", "mtx", "mps", "cnf", "wcnf", "rudy" (Max-Cut graphs), "sparse" (Biq Mac QUBO), "qubo", "coo",
        "qaplib", "marketsplit", ...: a name of `FORMATS`. By default what the file's extension says, else
        what the file looks like.
    b : str or path, optional
        The file with the right-hand side, where the format keeps it in one of its own.
    loss : str or Loss, optional
        Instead of the one that the file states; also with options, as in "huber:threshold=2". For files
        of residuals Ax - b: .npz, .mtx, market split.
    domain : {"spin", "binary"}, optional
        Instead of the one that the file states; for the same files.
    max_bytes : int, optional
        What a packed file may expand to, and what a file of text may hold. By default 2 GiB; but a packed
        file may expand to 64 MiB or to 200 times its size only, whichever is more.
    max_size : int, optional
        Variables, rows or columns that a file may declare without mentioning them; 5,000,000 by default.

    Raises
    ------
    ValueError
        If the file is missing, damaged, or does not hold a problem; the message says which.
    """
    with limited(max_bytes, max_size), spooled(path) as file:
        require_no_directory(file)
        if format is None and format_of(file) is None and file.is_file():
            format = _looked_into(file)
        module = _module(file, format)
        require_file(file)
        beside = None if b is None else require_file(Path(b))
        if isinstance(loss, str):
            loss = parse_loss(loss)
        with naming(file):
            problem: Problem = module.read(file, beside)
        return _restated(problem, file, format or format_of(file), loss, domain)


def write(path: PathLike, problem: Problem, format: str | None = None) -> None:
    """Write a problem to a file, so that `read` gives it back.

    Parameters
    ----------
    path : str or path
    problem : Problem
    format : str, optional
        As in `read`. By default the file's extension.

    Raises
    ------
    ValueError
        If the format cannot hold the problem, or the file cannot be written.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be a dcra.Problem; got {type(problem).__name__}")
    file = Path(path)
    try:
        _module(file, format).write(file, problem)
    except OSError as error:
        raise ValueError(complaint(file, error)) from error


def format_of(path: Path) -> str | None:
    """The format that a file's name ends with; the longest where several fit."""
    name = path.name.lower()
    fitting = [ext for ext in _extensions() if name.endswith((f".{ext}", f".{ext}.gz"))]
    return _extensions()[max(fitting, key=len)] if fitting else None


def _extensions() -> dict[str, str]:
    return {name: name for name in FORMATS} | ALIASES


def recognised(path: PathLike) -> str:
    """The format in which `read` would take a file."""
    file = require_file(Path(path))
    return format_of(file) or _looked_into(file) or "unknown"


def _looked_into(path: Path) -> str | None:
    from dcra.io.recognise import by_content

    with naming(path):
        return by_content(path)


def _module(path: Path, format: str | None) -> Any:
    chosen = format_of(path) if format is None else format
    if chosen is None:
        raise ValueError(f"{path}: {_unknown(path)}")
    if chosen not in FORMATS:
        raise ValueError(suggest("format", chosen, FORMATS))
    return import_module(FORMATS[chosen])


def _unknown(path: Path) -> str:
    known = ", ".join(f".{extension}" for extension in _extensions())
    if not path.suffix:
        return f"the name has no extension; known are {known} (or say `format`)"
    given = path.suffix[1:].lower()
    near = [] if given in TEXT else get_close_matches(given, _extensions(), n=1)
    hint = f"; did you mean .{near[0]}?" if near else ""
    return f"unknown extension {path.suffix}; known are {known}{hint}"


def _restated(
    problem: Problem, path: Path, format: str | None, loss: Loss | None, domain: str | None
) -> Problem:
    """The problem with another loss or domain than its file states."""
    if domain is not None and domain not in DOMAINS:
        raise ValueError(suggest("domain", domain, DOMAINS))
    if loss is None and domain in (None, problem.domain):
        return problem
    if format not in OPEN:
        what = "`domain`" if loss is None else "`loss`"
        raise ValueError(
            f"{path}: {what} cannot be replaced: a file of format {format} says what its numbers mean "
            f"(the domain is {problem.domain}); leave {what} out"
        )
    terms = list(problem.terms)
    if loss is not None:
        if len(terms) != 1:
            raise ValueError(f"{path}: `loss` can replace that of one term; the file has {len(terms)}")
        terms = [Term(loss, t.A, t.b, t.weight) for t in terms]
    if domain not in (None, problem.domain) and problem.constraints is not None:
        raise ValueError(f"{path}: `domain` cannot be replaced in a problem with constraints")
    return Problem(
        terms,
        linear=problem.linear,
        quadratic=problem.quadratic,
        constant=problem.constant,
        domain=domain or problem.domain,
        constraints=() if problem.constraints is None else problem.constraints.stated(),
    )
