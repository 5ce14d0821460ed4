"""Sums of four lists that hit a target: the inner loop of meeting in the middle.

A list is (key, h, start): its keys (uint64) and their residues h modulo M, sorted by h; the keys of residue v
stand at start[v]:start[v+1]. A set of keys is kept as bits, in few enough words to stay in the cache.
"""

from operator import index
from typing import NamedTuple, SupportsIndex

import numpy as np

from .face import Loop, Struct
from .store import Array

List = tuple[Array, Array, Array]


class _Lists(NamedTuple):
    key1: Array
    h1: Array
    key2: Array
    start2: Array
    key3: Array
    h3: Array
    key4: Array
    start4: Array


class Lists(_Lists, Struct):
    """Of each of the two pairs of lists, the residues of one and the starts of the other."""

    layout = """
        key1    uint64 (size1)
        h1      int64 (size1)
        key2    uint64 (size2)
        start2  int64 (modulus+1)
        key3    uint64 (size3)
        h3      int64 (size3)
        key4    uint64 (size4)
        start4  int64 (modulus+1)
    """

    def verify(self) -> None:
        modulus = self.start2.size - 1
        for h in (self.h1, self.h3):
            if h.size and (h.min() < 0 or h.max() >= modulus):
                raise ValueError(f"residues must be in 0..{modulus - 1}; got {h.min()}..{h.max()}")
        for key, start in ((self.key2, self.start2), (self.key4, self.start4)):
            if start[0] != 0 or start[-1] != key.size or np.any(start[1:] < start[:-1]):
                raise ValueError(f"`start` must rise from 0 to {key.size}, the number of keys")


def lists(first: List, second: List, third: List, fourth: List) -> Lists:
    """Four lists (key, h, start), as `meet` sees them."""
    return Lists(*first[:2], *second[::2], *third[:2], *fourth[::2])


class _MeetScratch(NamedTuple):
    bits: Array
    few: Array
    rest: Array


class MeetScratch(_MeetScratch, Struct):
    """Two sets of keys, the second cleared, and room for the keys that the first does not rule out."""

    layout = """
        bits  uint64 (words) rw
        few   uint64 (words) rw
        rest  uint64 (capacity) rw
    """

    def verify(self) -> None:
        words = self.bits.size
        if words == 0 or words & (words - 1) or words >= 1 << 57:
            raise ValueError(f"`bits` must have a power of two of words; got {words}")


def scratch(bits: int, capacity: int) -> MeetScratch:
    """Work space of one thread: sets of 2^bits bits, `bits` at least 6, and room for `capacity` keys."""
    words = 1 << (bits - 6)
    return MeetScratch(np.zeros(words, np.uint64), np.zeros(words, np.uint64), np.empty(capacity, np.uint64))


_meet = Loop(
    "join.meet",
    """
    lists    Lists
    target   uint64
    residue  int
    lo       int
    hi       int
    scratch  MeetScratch
    hits     bool (count) rw
    """,
    returns=int,
)


def meet(
    lists: Lists, target: SupportsIndex, residue: int, lo: int, hi: int, scratch: MeetScratch, hits: Array
) -> int:
    """For each c in lo..hi, whether some a + b + p + q = target (mod 2^64) can have h_a + h_b = c (mod M).

    Few sums of the last two lists are not ruled out by the bits of the first two; these are kept in `rest`,
    and the sums of the first two are looked up among their bits in turn. Chance lets a few pass both.

    Parameters
    ----------
    lists : Lists             from `lists`
    target, residue : uint64, int
        What keys and residues must add up to.
    scratch : MeetScratch     from `scratch`
    hits : (hi - lo,) bool    set

    Returns the sums looked at.
    """
    modulus = lists.start2.size - 1
    if not (0 <= lo and hi <= modulus and 0 <= residue < modulus):
        raise ValueError(f"`lo`, `hi` and `residue` must be in 0..{modulus}; got {lo}, {hi} and {residue}")
    if hits.size != max(0, hi - lo):
        raise ValueError(f"`hits` must have shape ({hi - lo}); got {hits.shape}")
    return _meet(lists, index(target), residue, lo, hi, scratch, hits)
