"""Sums of kinks over a box by the compact dual simplex method, and branch and bound on them.

minimise  sum_i max(hi_i z_i, lo_i z_i) + c'x,   z = Ax - b,   l <= x <= u
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from .face import Loop, Struct
from .store import Array


class _Kinks(NamedTuple):
    rows: Array
    cols: Array
    b: Array
    c: Array
    lo: Array
    hi: Array
    mean: Array
    reach: Array


class Kinks(_Kinks, Struct):
    """The problem; `mean` is the mean square of a row, eps `reach` what rounding may cost its slope."""

    layout = """
        rows   float64 (r, n)
        cols   float64 (n, r)
        b      float64 (r)
        c      float64 (n)
        lo     float64 (r)
        hi     float64 (r)
        mean   float64 (r)
        reach  float64 (r)
    """


class _Vertex(NamedTuple):
    l: Array
    u: Array
    x: Array
    q: Array
    y: Array
    z: Array
    inverse: Array
    norms: Array
    J: Array
    I: Array
    in_J: Array
    in_I: Array
    columns: Array
    counts: Array
    value: Array
    dq: Array
    dy: Array
    dx: Array
    part: Array
    times: Array
    order: Array


class Vertex(_Vertex, Struct):
    """A vertex and room to work. counts: size of the basis, free columns, pivots, inverses made anew."""

    layout = """
        l        float64 (n) rw
        u        float64 (n) rw
        x        float64 (n) rw
        q        float64 (n) rw
        y        float64 (r) rw
        z        float64 (r) rw
        inverse  float64 (K, K) rw
        norms    float64 (K) rw
        J        int64 (K) rw
        I        int64 (K) rw
        in_J     int64 (n) rw
        in_I     int64 (r) rw
        columns  int64 (n) rw
        counts   int64 (4) rw
        value    float64 (1) rw
        dq       float64 (n) rw
        dy       float64 (K) rw
        dx       float64 (K) rw
        part     float64 (w) rw
        times    float64 (n) rw
        order    int64 (w) rw
    """


class _Tree(NamedTuple):
    x: Array
    q: Array
    y: Array
    z: Array
    J: Array
    I: Array
    size: Array
    bound: Array
    spare: Array
    store: Array
    spot: Array
    var: Array
    side: Array
    node: Array
    mark: Array
    trail: Array
    low: Array
    high: Array
    gains: Array
    tries: Array
    scores: Array
    best: Array
    point: Array
    residual: Array
    numbers: Array
    candidates: Array
    cursor: Array
    events: Array
    slopes: Array


class Tree(_Tree, Struct):
    """Saved vertices, one per level; what branching knows; what was concluded (`events`, `slopes`)."""

    layout = """
        x           float64 (levels+1, n) rw
        q           float64 (levels+1, n) rw
        y           float64 (levels+1, r) rw
        z           float64 (levels+1, r) rw
        J           int64 (levels+1, K) rw
        I           int64 (levels+1, K) rw
        size        int64 (levels+1) rw
        bound       float64 (levels+1) rw
        spare       float64 (K, K) rw
        store       float64 (room) rw
        spot        int64 (levels+1) rw
        var         int64 (levels+1) rw
        side        int64 (levels+1) rw
        node        int64 (levels+1) rw
        mark        int64 (levels+1) rw
        trail       int64 (n) rw
        low         float64 (n)
        high        float64 (n)
        gains       float64 (2, n+1) rw
        tries       float64 (2, n+1) rw
        scores      float64 (n) rw
        best        float64 (n) rw
        point       float64 (n) rw
        residual    float64 (r) rw
        numbers     float64 (7) rw
        candidates  int64 (n) rw
        cursor      int64 (20) rw
        events      int64 (e, 4) rw
        slopes      float64 (s, r) rw
    """


class Outcome(IntEnum):
    """How the simplex method ended."""

    SOLVED = 0
    CUT = 1
    PAUSED = 2
    TROUBLE = 3


class Answer(IntEnum):
    """Why `branch` came back: nothing open, too many nodes, no work, no room, a better point, a leaf."""

    CLOSED = 0
    SPLIT = 1
    TIRED = 2
    FULL = 3
    FOUND = 4
    REACHED = 5


class Event(IntEnum):
    """What was concluded at a node: a variable is fixed, it is ruled out, has two children, or is a point."""

    TO_LOW = 0
    TO_HIGH = 1
    LEAF = 2
    BRANCH = 3
    POINT = 4


class Cursor(IntEnum):
    """Places of `Tree.cursor` that Python looks at."""

    PHASE = 0
    DEPTH = 1
    NODES = 2
    BUDGET = 3
    NODE = 4
    NEXT = 5
    USED = 6
    EVENTS = 7
    SLOPES = 8
    EVERY = 9
    LEFT = 18


class Number(IntEnum):
    """Places of `Tree.numbers` that Python looks at."""

    CUTOFF = 0  # a node whose bound reaches it is closed
    BEST = 1  # the value of the best point
    REST = 2  # what rounding may cost a bound besides the rows, in units of eps
    ROOT = 3  # the bound at the root of the tree


def kinks(A: Array, b: Array, c: Array, lo: Array, hi: Array, reach: Array) -> Kinks:
    """The problem with A (r, n)."""
    rows = np.ascontiguousarray(A)
    return Kinks(rows, np.ascontiguousarray(A.T), b, c, lo, hi, np.mean(rows * rows, axis=1), reach)


def vertex(r: int, n: int) -> Vertex:
    """Room for a vertex of r rows and n columns; l, u and y are to be filled in."""
    K, w = min(r, n) + 1, max(r, n) + 1
    l, u, x, q, dq, times = np.zeros((6, n))
    y, z = np.zeros((2, r))
    norms, dy, dx = np.zeros((3, K))
    J, I = np.zeros((2, K), np.int64)
    columns, order, counts = (np.zeros(size, np.int64) for size in (n, w, 4))
    inverse, value, part = np.zeros((K, K)), np.zeros(1), np.zeros(w)
    basis = (J, I, np.full(n, -1), np.full(r, -1), columns, counts)
    return Vertex(l, u, x, q, y, z, inverse, norms, *basis, value, dq, dy, dx, part, times, order)


def tree(low: Array, high: Array, r: int, levels: int, room: int, records: int) -> Tree:
    """Room for `levels` saved vertices, `room` numbers of their inverses and `records` slopes."""
    n = low.size
    K = min(r, n) + 1
    deep = levels + 1
    x, q = np.empty((2, deep, n))
    y, z = np.empty((2, deep, r))
    J, I = np.empty((2, deep, K), np.int64)
    size, spot, var, side, node, mark = np.zeros((6, deep), np.int64)
    gains, tries = np.zeros((2, 2, n + 1))
    scores, best, point = np.zeros((3, n))
    trail, candidates = np.zeros((2, n), np.int64)
    saved = (x, q, y, z, J, I, size, np.zeros(deep), np.empty((K, K)), np.empty(room))
    path = (spot, var, side, node, mark, trail, low, high)
    known = (gains, tries, scores, best, point, np.zeros(r), np.zeros(7), candidates, np.zeros(20, np.int64))
    events = np.zeros((2 * records + n + 4, 4), np.int64)
    return Tree(*saved, *path, *known, events, np.empty((records + 4, r)))


_branch = Loop(
    "branching.branch",
    """
    kinks   Kinks
    vertex  Vertex
    tree    Tree
    work    int
    """,
    returns=int,
)
_relax = Loop(
    "branching.relax",
    """
    kinks   Kinks
    vertex  Vertex
    cutoff  float
    work    int
    fresh   int
    """,
    returns=int,
)

AS_IT_IS, FROM_BASIS, FROM_SLOPES = 0, 1, 2
"""Where `relax` begins: at the vertex, at its basis computed anew, or at its slopes, rounded to an end."""

PAUSED_AT_ONCE = 0
"""Work with which `relax` computes the vertex and makes no step."""


def branch(kinks: Kinks, vertex: Vertex, tree: Tree, work: int) -> Answer:
    """Go on with a tree for about `work` entries of A."""
    return Answer(_branch(kinks, vertex, tree, work))


def relax(kinks: Kinks, vertex: Vertex, cutoff: float, work: int, begin: int) -> Outcome:
    """Go on with the relaxation until it is solved, or its bound reaches `cutoff`."""
    return Outcome(_relax(kinks, vertex, cutoff, work, begin))
