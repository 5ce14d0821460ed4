"""DIMACS clauses: .cnf, and .wcnf in the format of before and since 2022, plain or packed by gzip or xz.

    p cnf N M                  every clause is soft, of weight 1
    p wcnf N M [TOP]           each clause begins with its weight; TOP and above means hard, none without TOP
    (no p line)                each line begins with a weight, or with h for hard; `c N variables` may be the
                               first line of the file, where there are more than the clauses mention

A clause ends with 0 at the end of a line; lines that begin with c are comments. The numbers are read in one
go; only a file with a fault is looked at line by line, to say where it is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dcra.apps.maxsat.clauses import Clauses
from dcra.apps.maxsat.problem import ClauseProblem
from dcra.io.contents import data_of, save
from dcra.io.coordinates import shortened
from dcra.io.limits import check_declared
from dcra.io.numbers import integer
from dcra.model.problem import Problem

HARD = -(2**62)
"""Stands for h among the numbers: no weight is negative, and nobody writes this one."""

LARGEST = 2**63 - 1
"""Numbers beyond are read as this one."""

SIGNED = re.compile(rb"(?s)[+-](?:(?<=\S.)|(?!\d))")
"""A sign that does not begin a number."""

NAMED = re.compile(rb"c (\d{1,100}) variables\r?\n")
"""The first line of a .wcnf file that says how many variables there are; other programs pass it over."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Header:
    """What the p line says; `weighted` without `n` is the format since 2022, and has `least` variables."""

    weighted: bool
    n: int | None = None
    m: int | None = None
    top: int | None = None
    line: int = 0
    least: int = 0


def read(path: Path, b: Path | None, weighted: bool = False) -> ClauseProblem:
    if b is not None:
        raise ValueError("a file of clauses has no right-hand side; no other file is needed")
    return ClauseProblem(parse(data_of(path), weighted))


def write(path: Path, problem: Problem, weighted: bool = False) -> None:
    if not isinstance(problem, ClauseProblem):
        raise ValueError(f"{path}: holds clauses only; write a problem of dcra.apps.maxsat, or an .npz file")
    if not problem.charges_its_clauses or _has_more(problem):
        raise ValueError(
            f"{path}: holds clauses alone, and the problem has other parts besides or no longer charges "
            f"them; write an .npz file instead"
        )
    clauses = problem.clauses
    if not weighted and (clauses.hard.any() or np.any(clauses.weight != 1)):
        raise ValueError(f"{path}: .cnf files hold no weights and no hard clauses; write a .wcnf file")
    if clauses.weight.dtype.kind != "i":
        raise ValueError(f"{path}: weights in a .wcnf file must be integers; scale and round them")
    save(path, _text(clauses, weighted).encode())


def _has_more(problem: ClauseProblem) -> bool:
    """Whether there are terms or constraints that clauses do not say."""
    return problem.constraints is not None or len(problem.terms) > len(problem.clause_terms)


def parse(data: bytes, weighted: bool) -> Clauses:
    """Clauses from the text of a file; `weighted` is what to expect where there is no p line."""
    header, body = _split(data, weighted)
    if header.weighted and b"h" in body:
        if b"%d" % HARD in body:
            _diagnose(data, header)
        body = re.sub(rb"(?m)^[ \t]*h(?=[ \t])", b"%d" % HARD, body)
    numbers = _numbers(body)
    if numbers is None or not _regular(header, body, numbers):
        _diagnose(data, header)
    _check_variables(header, numbers, len(data))
    return _clauses(header, numbers)


def _check_variables(header: Header, numbers: Ints, length: int) -> None:
    """Refuse more variables than the file bears out, before anything is made for them."""
    if header.n is not None:
        check_declared(header.n, "the number of variables", f"line {header.line}", numbers.size, length)
        return
    check_declared(header.least, "the number of variables", "line 1", numbers.size, length)
    literal = _literals(header, numbers)
    largest = max(abs(int(end)) for end in (literal.min(initial=0), literal.max(initial=0)))
    check_declared(largest, "the largest variable", "the clauses", numbers.size, length)


def _literals(header: Header, numbers: Ints) -> Ints:
    """The numbers that are literals, among zeros."""
    ends = np.flatnonzero(numbers == 0)
    if not header.weighted or not ends.size:
        return numbers
    literal = np.ones(numbers.size, bool)
    literal[np.concatenate([[0], ends[:-1] + 1])] = False
    return numbers[literal]


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
    literals = numbers[literal]
    n = header.n or max(header.least, int(np.abs(literals).max(initial=1)))
    return Clauses.from_arrays(n, ptr, literals, weight, hard)


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
    if header.weighted and ends.size:
        weight = numbers[np.concatenate([[0], ends[:-1] + 1])]
        if np.any((weight < 1) & ((weight != HARD) | (header.n is not None))):
            return False
        if not plain and len(re.findall(rb"(?m)^[ \t]*\S", body)) != ends.size:
            return False  # a clause over several lines
    literal = _literals(header, numbers)
    most = header.n or LARGEST  # also keeps out -2^63, which has no absolute value
    return bool(literal.min(initial=0) >= -most and literal.max(initial=0) <= most)


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
        named = NAMED.match(data)
        header = Header(weighted=True, least=int(named[1]) if named else 0)
    body = data[begin:].strip() + b"\n"
    if b"c" in body:
        body = re.sub(rb"(?m)^[ \t]*c.*$", b"", body)
    return header, body.partition(b"%")[0] if b"%" in body else body


def _header(text: str, line: int) -> Header:
    words = text.split()
    want = "'p cnf VARIABLES CLAUSES' or 'p wcnf VARIABLES CLAUSES TOP'"
    kind = words[1] if len(words) > 1 else ""
    sizes = {"cnf": (4,), "wcnf": (4, 5)}.get(kind, ())
    if words[0] != "p" or len(words) not in sizes or not all(map(_is_count, words[2:])):
        raise ValueError(f"line {line}: the header must be {want}; got {shortened(words)}")
    n, m, *top = (int(word) for word in words[2:])
    if n < 1:
        raise ValueError(f"line {line}: there must be at least one variable; the header says {n}")
    if top and top[0] < 1:
        raise ValueError(f"line {line}: the top weight must be positive; got {top[0]}")
    return Header(kind == "wcnf", n, m, min(top[0], LARGEST) if top else None, line)


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 100


def _numbers(body: bytes) -> Ints | None:
    """All numbers of a text; None if it holds anything else."""
    if body.translate(None, b"0123456789+- \t\r\n\v\f") or SIGNED.search(body):
        return None
    if not body.strip():
        return np.zeros(0, np.int64)
    return np.fromstring(body.decode("ascii"), np.int64, sep=" ")


def _diagnose(data: bytes, header: Header) -> NoReturn:
    """Say what is wrong, and in which line."""
    count = 0
    open_line = 0
    for line, words in _lines(data, header):
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
            if abs(value) > (header.n or LARGEST):
                known = f"the {header.n} of the header" if header.n else "what can be counted"
                raise ValueError(f"line {line}: variable {str(abs(value))[:40]} is beyond {known}")
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
        return integer(word)
    except ValueError:
        raise ValueError(f"line {line}: expected an integer; got {shortened([word])}") from None


def _lines(data: bytes, header: Header) -> Iterator[tuple[int, list[str]]]:
    """Number and words of the lines that hold clauses."""
    for number, line in enumerate(data.split(b"\n"), 1):
        words = line.decode("utf-8", "replace").split()
        if words and words[0].startswith("%"):
            return
        if words and words[0][0] != "c" and number != header.line:
            yield number, words


def _text(clauses: Clauses, weighted: bool) -> str:
    """The clauses as text; weighted ones in the format since 2022."""
    lines = [f"p cnf {clauses.n} {clauses.m}"] if not weighted else [f"c {clauses.n} variables"]
    weights: list[Any] = clauses.weight.tolist()
    for literals, weight, hard in zip(clauses.lists(), weights, clauses.hard.tolist(), strict=True):
        first = [] if not weighted else ["h"] if hard else [str(weight)]
        lines.append(" ".join([*first, *map(str, literals), "0"]))
    return "\n".join(lines) + "\n"
