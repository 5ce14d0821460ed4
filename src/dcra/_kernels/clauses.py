"""Local search over clauses: a count of true literals per clause, the change of every flip kept up to date.

A literal is 2 v + 1 where variable v is negated, 2 v otherwise; an entry of `occ` is 2 c + 1 where clause c
holds the negated variable. A flip touches the clauses of its variable, and all literals of a clause only when
that becomes false or ceases to be.
"""

import math

import numpy as np

from .jit import inline, kernel
from .rng import below, draw, uniform

SAMPLES = 24  # improving variables compared before the best of them is taken


@kernel
def place(formula, walk):
    """Counts, critical variables, changes and lists for the point walk.x."""
    for v in range(walk.x.size):
        walk.change[v] = 0.0
        if walk.where.size:
            walk.where[v] = -1
    walk.sizes[0] = walk.sizes[1] = walk.sizes[2] = 0
    walk.total[0] = walk.total[1] = 0.0
    for c in range(walk.count.size):
        count, critical = 0, 0
        for p in range(formula.ptr[c], formula.ptr[c + 1]):
            literal = formula.lit[p]
            if walk.x[literal >> 1] ^ (literal & 1):
                count += 1
                critical ^= literal >> 1
        walk.count[c], walk.critical[c] = count, critical
        w = walk.weight[c]
        if count == 0:
            _enlist(formula, walk, c)
            for p in range(formula.ptr[c], formula.ptr[c + 1]):
                walk.change[formula.lit[p] >> 1] -= w
        elif count == 1:
            walk.change[critical] += w
    if walk.where.size:
        for v in range(walk.x.size):
            _bump(walk, v, 0.0)


@inline
def _enlist(formula, walk, c):
    """Clause c is false now. total = [false hard clauses, cost of false soft ones]."""
    hard = formula.hard[c]
    if hard:
        walk.total[0] += 1.0
    else:
        walk.total[1] += formula.cost[c]
    if walk.place.size:
        size = walk.sizes[1 + hard]
        walk.broken[hard, size] = c
        walk.place[c] = size
        walk.sizes[1 + hard] = size + 1


@inline
def _delist(formula, walk, c):
    hard = formula.hard[c]
    if hard:
        walk.total[0] -= 1.0
    else:
        walk.total[1] -= formula.cost[c]
    if walk.place.size:
        size = walk.sizes[1 + hard] - 1
        last = walk.broken[hard, size]
        walk.broken[hard, walk.place[c]] = last
        walk.place[last] = walk.place[c]
        walk.sizes[1 + hard] = size


@inline
def _bump(walk, v, step):
    """Add to the change of a flip, and keep the list of variables whose flip improves."""
    walk.change[v] += step
    if walk.where.size:
        good = walk.change[v] < 0
        at = walk.where[v]
        if good and at < 0:
            walk.where[v] = walk.sizes[0]
            walk.good[walk.sizes[0]] = v
            walk.sizes[0] += 1
        elif not good and at >= 0:
            walk.sizes[0] -= 1
            last = walk.good[walk.sizes[0]]
            walk.good[at] = last
            walk.where[last] = at
            walk.where[v] = -1


@inline
def _flip(formula, walk, v):
    """Flip variable v; the entries touched."""
    work = formula.occ_ptr[v + 1] - formula.occ_ptr[v]
    walk.x[v] ^= 1
    value = walk.x[v]
    for q in range(formula.occ_ptr[v], formula.occ_ptr[v + 1]):
        c = formula.occ[q] >> 1
        count, w = walk.count[c], walk.weight[c]
        if value ^ (formula.occ[q] & 1):
            if count == 0:
                _delist(formula, walk, c)
                for p in range(formula.ptr[c], formula.ptr[c + 1]):
                    _bump(walk, formula.lit[p] >> 1, w)
                _bump(walk, v, w)
                work += formula.ptr[c + 1] - formula.ptr[c]
            elif count == 1:
                _bump(walk, walk.critical[c], -w)
            walk.count[c] = count + 1
            walk.critical[c] ^= v
        else:
            walk.critical[c] ^= v
            walk.count[c] = count - 1
            if count == 1:
                _enlist(formula, walk, c)
                for p in range(formula.ptr[c], formula.ptr[c + 1]):
                    _bump(walk, formula.lit[p] >> 1, -w)
                _bump(walk, v, -w)
                work += formula.ptr[c + 1] - formula.ptr[c]
            elif count == 2:
                _bump(walk, walk.critical[c], w)
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
def walk_clauses(formula, walk, best_x, best, rng, moves, step, cap):
    """Descend on the weights of the walk; where nothing improves, make false clauses heavier and go on.

    False hard clauses gain `step[c]` at every local minimum; soft ones only while no hard clause is false, up
    to `cap[c]`. Returns the entries touched.
    """
    work = 0
    for _ in range(moves):
        if walk.sizes[0] > 0:
            v = _best_of_sample(walk, rng)
        else:
            _keep(walk, best_x, best)
            hard = 1 if walk.sizes[2] > 0 else 0
            size = walk.sizes[1 + hard]
            if size == 0:
                return -work - 1  # nothing is false: there is no better point
            work += _reweigh(formula, walk, hard, step, cap)
            v = _from_clause(formula, walk, walk.broken[hard, below(rng, size)], rng)
        work += _flip(formula, walk, v) + SAMPLES
        if walk.sizes[2] == 0:
            _keep(walk, best_x, best)
    return work


@inline
def _best_of_sample(walk, rng):
    size = walk.sizes[0]
    best = walk.good[below(rng, size)]
    if size > 1:
        for k in range(min(size, SAMPLES)):
            v = walk.good[k] if size <= SAMPLES else walk.good[below(rng, size)]
            older = walk.change[v] == walk.change[best] and (draw(rng) >> np.uint64(63)) > 0
            if walk.change[v] < walk.change[best] or older:
                best = v
    return best


@inline
def _reweigh(formula, walk, hard, step, cap):
    work = 0
    for k in range(walk.sizes[1 + hard]):
        c = walk.broken[hard, k]
        gain = step[c]
        if walk.weight[c] + gain > cap[c]:
            continue
        walk.weight[c] += gain
        for p in range(formula.ptr[c], formula.ptr[c + 1]):
            _bump(walk, formula.lit[p] >> 1, -gain)
        work += formula.ptr[c + 1] - formula.ptr[c]
    return work


@inline
def _from_clause(formula, walk, c, rng):
    """The variable of clause c whose flip costs least; ties are broken at random."""
    lo, size = formula.ptr[c], formula.ptr[c + 1] - formula.ptr[c]
    shift = below(rng, size)
    best = formula.lit[lo + shift] >> 1
    for k in range(1, size):
        v = formula.lit[lo + (shift + k) % size] >> 1
        if walk.change[v] < walk.change[best]:
            best = v
    return best


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
