"""Damage to files: bytes, words, numbers, lines, headers, packing; each from a generator of random numbers."""

from __future__ import annotations

import gzip
import lzma
import random
import re
import time
from collections.abc import Callable

NUMBERS = (
    *(
        b"0",
        b"-0",
        b"1",
        b"-1",
        b"2",
        b"3",
        b"00",
        b"+1",
        b"1.5",
        b".5",
        b"1.",
        b"1e3",
        b"1e400",
        b"1e-400",
        b"-1e400",
    ),
    *(
        b"1_000",
        b"inf",
        b"-inf",
        b"nan",
        b"NaN",
        b"0x10",
        b"1d3",
        b"1,5",
        b"1-2",
        b"--1",
        b"+-1",
        b"1e",
        b"e1",
    ),
    *(b"2147483647", b"2147483648", b"4294967296", b"9223372036854775807", b"-9223372036854775808"),
    *(b"9223372036854775808", b"18446744073709551615", b"-4611686018427387904", b"100000000", b"5000001"),
    *(b"99999999999999999999999", b"9" * 400, b"9" * 5000, b"1e150", b"1e308", b"4.9e-324"),
    *("\uff11\uff12".encode(), "\u0663".encode(), "\u00b2".encode(), b"True", b"None", b"()"),
)
WORDS = (
    *(
        b"",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b"\v",
        b"\f",
        b"\0",
        b"%",
        b"%%",
        b"#",
        b"c",
        b"p",
        b"h",
        b"p cnf 3 2",
    ),
    *(
        b"p qubo 0 3 1 1",
        b"# vartype=SPIN",
        b"# vartype=\xff",
        b"% dcra: loss=l1:a=1 domain=x",
        b"\xef\xbb\xbf",
    ),
    *(
        b"\xff\xfe",
        b"\x1f\x8b",
        b"\xfd7zXZ\x00",
        b"PK\x03\x04",
        b"\x93NUMPY",
        b"(" * 200,
        b"[" * 2000,
        b"-" * 300,
    ),
    *(
        b"ROWS",
        b"COLUMNS",
        b"RHS",
        b"BOUNDS",
        b"RANGES",
        b"ENDATA",
        b"NAME",
        b"OBJSENSE",
        b"MAX",
        b"SOS",
        b"QUADOBJ",
    ),
    *(
        b"'MARKER'",
        b"'INTORG'",
        b" NN  COST",
        b"end",
        b"binary",
        b"general",
        b"subject to",
        b"[ x ^ 2 ] / 2",
        b"::",
    ),
    *(
        b"symmetric",
        b"skew-symmetric",
        b"hermitian",
        b"pattern",
        b"complex",
        b"array",
        b"coordinate",
        b"vector",
    ),
)
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
    return pack_again(data, rng)


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
