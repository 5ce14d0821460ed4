"""Local search over clauses: a count of true literals per clause, the change of every flip kept up to date.

A literal is 2 v + 1 where variable v is negated, 2 v otherwise; an entry of `occ` is 2 c + 1 where clause c
holds the negated variable. A flip touches the clauses of its variable, and all literals of a clause only when
that becomes false or ceases to be.
"""

import math

import numpy as np

from .jit import inline, kernel
from .rng import below, uniform


@kernel
def place(formula, walk):
    """Counts, critical variables, changes and the list of false hard clauses for the point walk.x."""
    for v in range(walk.x.size):
        walk.change[v] = 0.0
    walk.total[0] = walk.total[1] = 0.0
    for c in range(walk.truths.size):
        count, critical = 0, 0
        for p in range(formula.ptr[c], formula.ptr[c + 1]):
            literal = formula.lit[p]
            if walk.x[literal >> 1] ^ (literal & 1):
                count += 1
                critical ^= literal >> 1
        walk.truths[c], walk.critical[c] = count, critical
        w = walk.weight[c]
        if count == 0:
            _enlist(formula, walk, c)
            for p in range(formula.ptr[c], formula.ptr[c + 1]):
                walk.change[formula.lit[p] >> 1] -= w
        elif count == 1:
            walk.change[critical] += w


@inline
def _enlist(formula, walk, c):
    """Clause c is false now. total = [false hard clauses, cost of false soft ones]."""
    if formula.hard[c]:
        at = np.int64(walk.total[0])
        walk.broken[at] = c
        walk.place[c] = at
        walk.total[0] += 1.0
    else:
        walk.total[1] += formula.cost[c]


@inline
def _delist(formula, walk, c):
    if formula.hard[c]:
        walk.total[0] -= 1.0
        last = walk.broken[np.int64(walk.total[0])]
        walk.broken[walk.place[c]] = last
        walk.place[last] = walk.place[c]
    else:
        walk.total[1] -= formula.cost[c]


@inline
def _flip(formula, walk, v):
    """Flip variable v; the entries touched."""
    work = formula.occ_ptr[v + 1] - formula.occ_ptr[v]
    walk.x[v] ^= 1
    value = walk.x[v]
    for q in range(formula.occ_ptr[v], formula.occ_ptr[v + 1]):
        c = formula.occ[q] >> 1
        count, w = walk.truths[c], walk.weight[c]
        if value ^ (formula.occ[q] & 1):
            if count == 0:
                _delist(formula, walk, c)
                for p in range(formula.ptr[c], formula.ptr[c + 1]):
                    walk.change[formula.lit[p] >> 1] += w
                walk.change[v] += w
                work += formula.ptr[c + 1] - formula.ptr[c]
            elif count == 1:
                walk.change[walk.critical[c]] -= w
            walk.truths[c] = count + 1
            walk.critical[c] ^= v
        else:
            walk.critical[c] ^= v
            walk.truths[c] = count - 1
            if count == 1:
                _enlist(formula, walk, c)
                for p in range(formula.ptr[c], formula.ptr[c + 1]):
                    walk.change[formula.lit[p] >> 1] -= w
                walk.change[v] -= w
                work += formula.ptr[c + 1] - formula.ptr[c]
            elif count == 2:
                walk.change[walk.critical[c]] += w
    return work


@inline
def _keep(walk, best_x, best):
    """Remember the point if it breaks fewer hard clauses than the best, or as many at less cost."""
    if walk.total[0] < best[0] or (walk.total[0] == best[0] and walk.total[1] < best[1]):
        best[0], best[1] = walk.total[0], walk.total[1]
        for v in range(best_x.size):
            best_x[v] = walk.x[v]


@kernel
def anneal_clauses(formula, walk, best_x, best, rng, temperatures):
    """One Metropolis pass over the variables at each of `temperatures`.

    best = [false hard clauses, cost] of best_x. Returns the entries touched, an untaken proposal being one.
    """
    work = 0
    for temperature in temperatures:
        falling = False
        limit = 40.0 * temperature
        for v in range(walk.x.size):
            rise = walk.change[v]
            if rise > 0:
                if rise > limit or uniform(rng) >= math.exp(-rise / temperature):
                    continue
                if falling:
                    _keep(walk, best_x, best)  # only before the way up: a descent would copy x at every flip
                falling = False
            else:
                falling = True
            work += _flip(formula, walk, v)
        _keep(walk, best_x, best)
        work += walk.x.size
    return work


@kernel
def walk_clauses(formula, walk, best_x, best, rng, moves, noise):
    """Focused Metropolis search for a point at which all hard clauses are true, on the weights of the walk.

    Each move takes a false hard clause and one of its variables at random, and flips it if that adds no
    weight, or else, adding w, with probability exp(-w / noise). Ends early when no hard clause is false.
    Returns the entries touched.
    """
    work = 0
    for _ in range(moves):
        if walk.total[0] == 0:
            break
        c = walk.broken[below(rng, walk.total[0])]
        v = formula.lit[formula.ptr[c] + below(rng, formula.ptr[c + 1] - formula.ptr[c])] >> 1
        work += 1
        rise = walk.change[v]
        if rise <= 0 or uniform(rng) < math.exp(-rise / noise):
            work += _flip(formula, walk, v)
            if walk.total[0] < best[0]:
                _keep(walk, best_x, best)
    return work


@kernel
def propagate(formula, x, order, assigned, free, sated, queue):
    """Assign variables in `order`, always first those that hard clauses force once all else in them is false.

    x holds the values to take where nothing is forced, and the answer. assigned (n,) and sated (m,) uint8
    arrive as zeros; free (m,) and queue (n,) int32 are scratch. Returns the hard clauses that came out false.
    """
    head, tail, broken = 0, 0, 0
    for c in range(free.size):
        free[c] = formula.ptr[c + 1] - formula.ptr[c]
        if formula.hard[c] and free[c] == 1:
            tail = _force(formula, x, c, assigned, queue, tail)
    for k in range(x.size + 1):
        while head < tail:
            v = queue[head]
            head += 1
            for q in range(formula.occ_ptr[v], formula.occ_ptr[v + 1]):
                c = formula.occ[q] >> 1
                if x[v] ^ (formula.occ[q] & 1):
                    sated[c] = 1
                free[c] -= 1
                if formula.hard[c] and not sated[c]:
                    if free[c] == 0:
                        broken += 1
                    elif free[c] == 1:
                        tail = _force(formula, x, c, assigned, queue, tail)
        if k < x.size and not assigned[order[k]]:
            assigned[order[k]] = 1
            queue[tail] = order[k]
            tail += 1
    return broken


@inline
def _force(formula, x, c, assigned, queue, tail):
    """Make the last free literal of clause c true; the new end of the queue."""
    for p in range(formula.ptr[c], formula.ptr[c + 1]):
        v = formula.lit[p] >> 1
        if not assigned[v]:
            assigned[v], x[v] = 1, 1 - (formula.lit[p] & 1)
            queue[tail] = v
            tail += 1
    return tail
