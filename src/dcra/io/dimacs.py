"""DIMACS clauses: .cnf, and .wcnf in the format of before and since 2022, plain or packed by gzip or xz.

    p cnf N M                  every clause is soft, of weight 1
    p wcnf N M [TOP]           each clause begins with its weight; TOP and above means hard, none without TOP
    (no p line)                each line begins with a weight, or with h for hard

A clause ends with 0 at the end of a line; lines that begin with c are comments. The numbers are read in one
go; only a file with a fault is looked at line by line, to say where it is.
"""

from __future__ import annotations

import gzip
import lzma
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.problem import ClauseProblem
from dcra.model.problem import Problem

HARD = -(2**62)
"""Stands for h among the numbers: no weight is negative, and nobody writes this one."""

LARGEST = 2**63 - 1
"""Numbers beyond are read as this one."""

PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress}

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Header:
    """What the p line says; `weighted` without `n` is the format since 2022."""

    weighted: bool
    n: int | None = None
    m: int | None = None
    top: int | None = None


def read(path: Path, b: Path | None) -> ClauseProblem:
    if b is not None:
        raise ValueError("a file of clauses has no right-hand side; no other file is needed")
    return ClauseProblem(parse(_unpacked(path), weighted=".wcnf" in path.name.lower()))


def write(path: Path, problem: Problem) -> None:
    if not isinstance(problem, ClauseProblem):
        raise ValueError(f"{path}: holds clauses only; write a problem of dcra.apps.maxsat, or an .npz file")
    clauses = problem.clauses
    weighted = ".wcnf" in path.name.lower()
    if not weighted and (clauses.hard.any() or np.any(clauses.weight != 1)):
        raise ValueError(f"{path}: .cnf files hold no weights and no hard clauses; write a .wcnf file")
    if clauses.weight.dtype.kind != "i":
        raise ValueError(f"{path}: weights in a .wcnf file must be integers; scale and round them")
    text = _text(clauses, weighted).encode()
    name = path.name.lower()
    pack = next((pack for ending, pack in PACKERS.items() if name.endswith(ending)), bytes)
    path.write_bytes(pack(text))


def parse(data: bytes, weighted: bool) -> Clauses:
    """Clauses from the text of a file; `weighted` is what to expect where there is no p line."""
    header, body = _split(data, weighted)
    if header.weighted and b"h" in body:
        body = re.sub(rb"(?m)^[ \t]*h(?=[ \t])", b"%d" % HARD, body)
    numbers = _numbers(body)
    if numbers is None or not _regular(header, body, numbers):
        _diagnose(data, header)
    return _clauses(header, numbers)


def _clauses(header: Header, numbers: Ints) -> Clauses:
    ends = np.flatnonzero(numbers == 0)
    begins = np.concatenate([[0], ends[:-1] + 1]) if ends.size else ends
    literal = numbers != 0
    if header.weighted:
        weight = numbers[begins]
        literal[begins] = False
        begins = begins + 1
        hard = (weight == HARD) | (np.zeros_like(ends, bool) if header.top is None else weight >= header.top)
        if header.n is not None and header.top is None:
            _doubt_missing_top(header, weight)
    else:
        weight, hard = np.ones(ends.size, np.int64), np.zeros(ends.size, bool)
    ptr = np.concatenate([[0], np.cumsum(ends - begins)])
    return Clauses.from_arrays(header.n, ptr, numbers[literal], weight, hard)


def _doubt_missing_top(header: Header, weight: Ints) -> None:
    """Without a top weight no clause is hard. Say so where the weights look as if some were meant to be."""
    largest = int(weight.max(initial=0))
    lesser = weight[weight < largest]
    several = weight.size - lesser.size
    if several > 1 and lesser.size and float(lesser.sum(dtype=np.float64)) < largest:
        warnings.warn(
            f"the header has no top weight, so that all clauses are soft, but {several} of them weigh "
            f"{largest}, more than all lighter ones together; if they are hard, it must be "
            f"'p wcnf {header.n} {header.m} {largest}'",
            stacklevel=2,
        )


def _regular(header: Header, body: bytes, numbers: Ints) -> bool:
    """Whether the numbers are what the header promises, every 0 at the end of its line."""
    ends = np.flatnonzero(numbers == 0)
    if numbers.size and numbers[-1] != 0:
        return False
    plain = body.count(b" 0\n") == body.count(b"\n") == ends.size  # one clause in every line, nothing else
    if not plain and len(re.findall(rb"(?m)(?<!\S)-?0+[ \t\r]*$", body)) != ends.size:
        return False
    if header.m is not None and header.m != ends.size:
        return False
    literal = np.ones(numbers.size, bool)
    if header.weighted and ends.size:
        begins = np.concatenate([[0], ends[:-1] + 1])
        weight = numbers[begins]
        if np.any((weight < 1) & ((weight != HARD) | (header.n is not None))):
            return False
        literal[begins] = False
        if not plain and len(re.findall(rb"(?m)^[ \t]*\S", body)) != ends.size:
            return False  # a clause over several lines
    return header.n is None or int(np.max(np.abs(numbers[literal]), initial=0)) <= header.n


def _split(data: bytes, weighted: bool) -> tuple[Header, bytes]:
    """The header, and the clauses without it and without comments."""
    begin, header = 0, None
    while header is None and (line := _LINE.match(data, begin)) is not None:
        words = line.group().split()
        if words and words[0][:1] == b"p":
            header = _header(line.group().decode("utf-8", "replace"), data.count(b"\n", 0, line.start()) + 1)
        elif words and words[0][:1] != b"c":
            break
        begin = line.end()
    if header is None:
        if not weighted:
            raise ValueError("there is no header; a .cnf file needs a line such as 'p cnf 10 40' at its top")
        header = Header(weighted=True)
    body = data[begin:].strip() + b"\n"
    if b"c" in body:
        body = re.sub(rb"(?m)^[ \t]*c.*$", b"", body)
    return header, body.partition(b"%")[0] if b"%" in body else body


def _header(text: str, line: int) -> Header:
    words = text.split()
    want = "'p cnf VARIABLES CLAUSES' or 'p wcnf VARIABLES CLAUSES TOP'"
    kind = words[1] if len(words) > 1 else ""
    sizes = {"cnf": (4,), "wcnf": (4, 5)}.get(kind, ())
    if words[0] != "p" or len(words) not in sizes or not all(word.isdecimal() for word in words[2:]):
        raise ValueError(f"line {line}: the header must be {want}; got {text.strip()!r}")
    n, m, *top = (int(word) for word in words[2:])
    if n < 1:
        raise ValueError(f"line {line}: there must be at least one variable; the header says {n}")
    if top and top[0] < 1:
        raise ValueError(f"line {line}: the top weight must be positive; got {top[0]}")
    return Header(kind == "wcnf", n, m, min(top[0], LARGEST) if top else None)


def _numbers(body: bytes) -> Ints | None:
    """All numbers of a text; None if it holds anything else."""
    if not body.strip():
        return np.zeros(0, np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(body.decode("latin-1"), np.int64, sep=" ")
        except (DeprecationWarning, ValueError, OverflowError):
            return None


def _diagnose(data: bytes, header: Header) -> NoReturn:
    """Say what is wrong, and in which line."""
    count = 0
    open_line = 0
    for line, words in _lines(data):
        body = words
        if header.weighted and not open_line:
            _check_weight(words[0], header, line)
            body = words[1:]
        for place, word in enumerate(body):
            value = _integer(word, line)
            if value == 0 and place < len(body) - 1:
                raise ValueError(
                    f"line {line}: literal 0 inside a clause; 0 only ends one, at the end of a line"
                )
            if header.n is not None and abs(value) > header.n:
                raise ValueError(f"line {line}: variable {abs(value)} is beyond the {header.n} of the header")
            count += value == 0
        closed = bool(body) and body[-1].lstrip("-").strip("0") == ""
        open_line = 0 if closed else line
        if open_line and header.weighted:
            raise ValueError(f"line {line}: the clause does not end with 0")
    if open_line:
        raise ValueError(f"line {open_line}: the last clause does not end with 0")
    if header.m is not None and count != header.m:
        raise ValueError(f"the header promises {header.m} clauses, the file holds {count}")
    raise ValueError("the clauses cannot be read")


def _check_weight(word: str, header: Header, line: int) -> None:
    if word == "h":
        if header.n is not None:
            raise ValueError(f"line {line}: h marks hard clauses only in files without a p line")
        return
    weight = _integer(word, line)
    if weight <= 0:
        raise ValueError(f"line {line}: a weight must be a positive integer; got {word}")


def _integer(word: str, line: int) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"line {line}: expected an integer; got {word!r}") from None


def _lines(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number and words of the lines that hold clauses."""
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if words and words[0].startswith("%"):
            return
        if words and words[0][0] not in "cp":
            yield number, words


def _unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked where its first ones say so."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    return lzma.decompress(data) if data[:6] == b"\xfd7zXZ\x00" else data


def _text(clauses: Clauses, weighted: bool) -> str:
    """The clauses as text; weighted ones in the format since 2022."""
    lines = [f"p cnf {clauses.n} {clauses.m}"] if not weighted else [f"c {clauses.n} variables"]
    weights: list[Any] = clauses.weight.tolist()
    for literals, weight, hard in zip(clauses.lists(), weights, clauses.hard.tolist(), strict=True):
        first = [] if not weighted else ["h"] if hard else [str(weight)]
        lines.append(" ".join([*first, *map(str, literals), "0"]))
    return "\n".join(lines) + "\n"
