"""Damage to files: bytes, words, numbers, lines, headers, packing, from a generator of random numbers."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import re
import time
import warnings
import zipfile
from collections.abc import Callable

NUMBERS = [
    *b"0 -0 1 -1 2 3 00 +1 1.5 .5 1. 1e3 1e400 1e-400 -1e400 1_000 inf -inf nan NaN 0x10 1d3 1,5 1-2".split(),
    *b"--1 +-1 1e e1 2147483647 2147483648 4294967296 9223372036854775807 -9223372036854775808".split(),
    *b"9223372036854775808 18446744073709551615 -4611686018427387904 100000000 5000001 1e150 1e308".split(),
    *b"99999999999999999999999 4.9e-324 True None ()".split(),
    *(b"9" * 400, b"9" * 5000, "\uff11\uff12".encode(), "\u0663".encode(), "\u00b2".encode()),
]
WORDS = [
    *b"% %% # c p h end binary general ROWS COLUMNS RHS BOUNDS RANGES ENDATA NAME OBJSENSE MAX SOS".split(),
    *b"QUADOBJ 'MARKER' 'INTORG' :: symmetric skew-symmetric hermitian pattern complex array vector".split(),
    *(b"", b" ", b"\n", b"\r", b"\r\n", b"\t", b"\v", b"\f", b"\0", b"(" * 200, b"[" * 2000, b"-" * 300),
    *(b"p cnf 3 2", b"p qubo 0 3 1 1", b"# vartype=SPIN", b"# vartype=\xff", b" NN  COST", b"subject to"),
    *(b"% dcra: loss=l1:a=1 domain=x", b"[ x ^ 2 ] / 2", b"coordinate", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"\x1f\x8b", b"\xfd7zXZ\x00", b"PK\x03\x04", b"\x93NUMPY"),
]
WORD = re.compile(rb"\S+")
NUMBER = re.compile(rb"-?\d+(?:\.\d*)?")

Mutation = Callable[[bytes, random.Random], bytes]


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5, 20))):
        if made:
            made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


def cut(data: bytes, rng: random.Random) -> bytes:
    lo, hi = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return rng.choice((data[:lo], data[hi:], data[:lo] + data[hi:]))


def repeat(data: bytes, rng: random.Random) -> bytes:
    lo, hi = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:hi] + data[lo:hi] * rng.choice((1, 2, 30)) + data[hi:]


def insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(WORDS + NUMBERS) + data[place:]


def replace_word(data: bytes, rng: random.Random) -> bytes:
    return _replaced(WORD, rng.choice(WORDS + NUMBERS), data, rng)


def replace_number(data: bytes, rng: random.Random) -> bytes:
    return _replaced(NUMBER, rng.choice(NUMBERS), data, rng)


def change_number(data: bytes, rng: random.Random) -> bytes:
    """A number that could be one, so that what it is for is reached."""
    return _replaced(NUMBER, str(rng.choice((-1, 0, 1, 2, 3, 4, 5, 7, 10, 100, 10**6))).encode(), data, rng)


def move_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] = lines[i] + rng.choice((b" ", b"")) + lines[j]
    return b"\n".join(lines)


def change_head(data: bytes, rng: random.Random) -> bytes:
    head, newline, rest = data.partition(b"\n")
    return rng.choice((replace_number, replace_word, change_number, flip_bytes))(head, rng) + newline + rest


def change_inside(data: bytes, rng: random.Random) -> bytes:
    """Damage below the packing, which then fits again."""
    for magic, unpack, pack in (
        (b"\x1f\x8b", gzip.decompress, gzip.compress),
        (b"\xfd7zXZ", lzma.decompress, lzma.compress),
    ):
        if data.startswith(magic):
            try:
                return pack(mutated(unpack(data), rng))
            except Exception:
                return data
    return change_member(data, rng) if data.startswith(b"PK") else pack_again(data, rng)


def change_member(data: bytes, rng: random.Random) -> bytes:
    """Damage to an array, or another name for it, in an archive whose checksums are right."""
    made = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = [(member.filename, old.read(member)) for member in old.infolist()]
    except Exception:
        return data
    k = rng.randrange(len(members)) if members else 0
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new,
    ):
        warnings.simplefilter("ignore")  # a name that comes twice
        for place, (name, body) in enumerate(members):
            if place != k or rng.random() < 0.1:
                new.writestr(name, body)
            elif rng.random() < 0.1:
                new.writestr(
                    rng.choice(members)[0] if rng.random() < 0.5 else f"{rng.randrange(9)}.npy", body
                )
            elif rng.random() < 0.9:
                change = rng.choice((flip_bytes, cut, replace_number, change_number, insert, repeat))
                new.writestr(name, change(body, rng))
    return made.getvalue()


def pack_again(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((gzip.compress, lzma.compress))(data)


TEXT: tuple[Mutation, ...] = (
    *(flip_bytes, cut, repeat, insert, replace_word, replace_number, replace_number),
    *(change_number, change_number, move_lines, change_head, change_head),
)
PACKED: tuple[Mutation, ...] = (flip_bytes, flip_bytes, cut, repeat, insert, change_inside, change_inside)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The file after one to four kinds of damage."""
    packed = data[:2] in (b"\x1f\x8b", b"\xfd7", b"PK")
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(PACKED if packed else TEXT + (pack_again,) * (rng.random() < 0.05))(data, rng)
    return data


def shrunk(data: bytes, fails: Callable[[bytes], bool], seconds: float = 60.0) -> bytes:
    """A shorter file that fails as well: parts are left out as long as it does, and there is time."""
    size, end = max(1, len(data) // 2), time.monotonic() + seconds
    while size and time.monotonic() < end:
        place, shorter = 0, False
        while place < len(data) and time.monotonic() < end:
            tried = data[:place] + data[place + size :]
            if fails(tried):
                data, shorter = tried, True
            else:
                place += size
        size = size if shorter and size > 1 else size // 2
    return data


def _replaced(pattern: re.Pattern[bytes], new: bytes, data: bytes, rng: random.Random) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return insert(data, rng)
    place = rng.choice(found)
    return data[: place.start()] + new + data[place.end() :]
