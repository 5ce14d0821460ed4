// Local search over clauses: a count of true literals per clause, the change of every flip kept up to date.
//
// A literal is 2 v + 1 where variable v is negated, 2 v otherwise; an entry of `occ` is 2 c + 1 where clause c
// holds the negated variable. A flip touches the clauses of its variable, and all literals of a clause only when
// that becomes false or ceases to be.

#include <cmath>

#include "export.hpp"
#include "formula.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::clauses {

// How many hard clauses are false, as a place in the list of them. A walk that was never placed must do no harm.
DCRA_INLINE int64_t false_ones(const Walk& walk) { return whole(walk.total[0], double(walk.m)); }

// Clause c is false now.
template <class I> DCRA_INLINE void enlist(const Formula<I>& formula, const Walk& walk, int64_t c) {
    if (formula.hard[c]) {
        const int64_t at = false_ones(walk);
        if (!within(at, walk.m)) return;
        walk.broken[at] = int32_t(c);
        walk.place[c] = int32_t(at);
        walk.total[0] += 1.0;
    } else {
        walk.total[1] += formula.cost[c];
    }
}

template <class I> DCRA_INLINE void delist(const Formula<I>& formula, const Walk& walk, int64_t c) {
    if (formula.hard[c]) {
        walk.total[0] -= 1.0;
        const int64_t end = false_ones(walk), here = walk.place[c];
        if (!within(end, walk.m) || !within(here, walk.m) || !within(walk.broken[end], walk.m)) return;
        const int32_t last = walk.broken[end];
        walk.broken[here] = last;
        walk.place[last] = int32_t(here);
    } else {
        walk.total[1] -= formula.cost[c];
    }
}

// Counts, critical variables, changes and the list of false hard clauses for the point walk.x.
template <class I> void place(const Formula<I>& given, const Walk& given_walk) {
    const Formula<I> formula = given;  // copies: nothing that the loop writes can change them
    const Walk walk = given_walk;
    for (int64_t v = 0; v < walk.n; ++v) walk.change[v] = 0;
    walk.total[0] = walk.total[1] = 0;
    for (int64_t c = 0; c < walk.m; ++c) {
        int32_t count = 0, critical = 0;
        for (int64_t p = formula.ptr[c]; p < formula.ptr[c + 1]; ++p) {
            const I literal = formula.lit[p];
            const int32_t holds = (walk.x[literal >> 1] ^ literal) & 1;
            count += holds;  // no branch: nobody could predict it
            critical ^= -holds & int32_t(literal >> 1);
        }
        walk.truths[c] = count;
        walk.critical[c] = critical;
        const double w = walk.weight[c];
        if (count == 0) {
            enlist(formula, walk, c);
            for (int64_t p = formula.ptr[c]; p < formula.ptr[c + 1]; ++p) walk.change[formula.lit[p] >> 1] -= w;
        } else if (count == 1) {
            walk.change[critical] += w;
        }
    }
}

// Flip variable v; the entries touched.
template <class I> DCRA_INLINE int64_t flip(const Formula<I>& formula, const Walk& walk, int64_t v) {
    const int64_t first = formula.occ_ptr[v], last = formula.occ_ptr[v + 1];
    const int value = walk.x[v] ^= 1;
    int64_t work = last - first;
    const auto add = [&](int64_t c, double w) {
        for (int64_t p = formula.ptr[c]; p < formula.ptr[c + 1]; ++p) walk.change[formula.lit[p] >> 1] += w;
        walk.change[v] += w;
        work += formula.ptr[c + 1] - formula.ptr[c];
    };
    for (int64_t q = first; q < last; ++q) {
        const int64_t c = formula.occ[q] >> 1;
        const int32_t count = walk.truths[c], critical = walk.critical[c];
        const double w = walk.weight[c];
        walk.critical[c] = critical ^ int32_t(v);
        if (value ^ int(formula.occ[q] & 1)) {
            walk.truths[c] = count + 1;
            if (count == 0) {
                delist(formula, walk, c);
                add(c, w);
            } else if (count == 1 && within(critical, walk.n)) {
                walk.change[critical] -= w;
            }
        } else {
            walk.truths[c] = count - 1;
            if (count == 1) {
                enlist(formula, walk, c);
                add(c, -w);
            } else if (count == 2 && within(walk.critical[c], walk.n)) {
                walk.change[walk.critical[c]] += w;
            }
        }
    }
    return work;
}

// Remember the point if it breaks fewer hard clauses than the best, or as many at less cost.
DCRA_INLINE void keep(const Walk& walk, uint8_t* best_x, double* best) {
    const double* total = walk.total;
    if (!(total[0] < best[0] || (total[0] == best[0] && total[1] < best[1]))) return;
    best[0] = total[0];
    best[1] = total[1];
    for (int64_t v = 0; v < walk.n; ++v) best_x[v] = walk.x[v];
}

// One Metropolis pass over the variables at each of `temperatures`.
template <class I>
int64_t anneal_clauses(const Formula<I>& given, const Walk& given_walk, uint8_t* best_x, double* best, uint64_t* rng,
                       const double* temperatures, int64_t passes) {
    const Formula<I> formula = given;
    const Walk walk = given_walk;
    int64_t work = 0;
    for (int64_t p = 0; p < passes; ++p) {
        const double temperature = temperatures[p], limit = 40.0 * temperature;
        bool falling = false;
        for (int64_t v = 0; v < walk.n; ++v) {
            const double rise = walk.change[v];
            if (rise > 0) {
                if (rise > limit || uniform(rng) >= std::exp(-rise / temperature)) continue;
                if (falling) keep(walk, best_x, best);  // only before the way up: a descent would copy x at every flip
                falling = false;
            } else {
                falling = true;
            }
            work += flip(formula, walk, v);
        }
        keep(walk, best_x, best);
        work += walk.n;
    }
    return work;
}

// Focused Metropolis search for a point at which all hard clauses are true, on the weights of the walk.
template <class I>
int64_t walk_clauses(const Formula<I>& given, const Walk& given_walk, uint8_t* best_x, double* best, uint64_t* rng,
                     int64_t moves, double noise) {
    const Formula<I> formula = given;
    const Walk walk = given_walk;
    int64_t work = 0;
    for (int64_t i = 0; i < moves && false_ones(walk) > 0; ++i) {
        const int64_t c = walk.broken[below(rng, false_ones(walk))];
        if (!within(c, walk.m)) break;
        const int64_t first = formula.ptr[c], size = formula.ptr[c + 1] - first, at = below(rng, size);
        ++work;
        if (size == 0) continue;
        const int64_t v = formula.lit[first + at] >> 1;
        const double rise = walk.change[v];
        if (rise <= 0 || uniform(rng) < std::exp(-rise / noise)) {
            work += flip(formula, walk, v);
            if (walk.total[0] < best[0]) keep(walk, best_x, best);
        }
    }
    return work;
}

// Make the last free literal of clause c true; the new end of the queue.
template <class I>
DCRA_INLINE int64_t force(const Formula<I>& formula, uint8_t* x, int64_t c, uint8_t* assigned, int32_t* queue,
                          int64_t tail) {
    for (int64_t p = formula.ptr[c]; p < formula.ptr[c + 1]; ++p) {
        const int64_t v = formula.lit[p] >> 1;
        if (assigned[v]) continue;
        assigned[v] = 1;
        x[v] = uint8_t(1 - (formula.lit[p] & 1));
        queue[tail++] = int32_t(v);
    }
    return tail;
}

// Assign variables in `order`, always first those that hard clauses force; the hard clauses that came out false.
template <class I>
int64_t propagate(const Formula<I>& formula, uint8_t* x, const int64_t* order, uint8_t* assigned, int32_t* free,
                  uint8_t* sated, int32_t* queue) {
    int64_t head = 0, tail = 0, broken = 0;
    for (int64_t c = 0; c < formula.m; ++c) {
        free[c] = int32_t(formula.ptr[c + 1] - formula.ptr[c]);
        if (formula.hard[c] && free[c] == 1) tail = force(formula, x, c, assigned, queue, tail);
    }
    for (int64_t k = 0; k <= formula.n; ++k) {
        for (; head < tail; ++head) {
            const int64_t v = queue[head];
            for (int64_t q = formula.occ_ptr[v]; q < formula.occ_ptr[v + 1]; ++q) {
                const int64_t c = formula.occ[q] >> 1;
                if (x[v] ^ (formula.occ[q] & 1)) sated[c] = 1;
                --free[c];
                if (!formula.hard[c] || sated[c]) continue;
                if (free[c] == 0) ++broken;
                else if (free[c] == 1) tail = force(formula, x, c, assigned, queue, tail);
            }
        }
        if (k == formula.n) break;
        if (!within(order[k], formula.n)) return OUTSIDE;
        if (!assigned[order[k]]) {
            assigned[order[k]] = 1;
            queue[tail++] = int32_t(order[k]);
        }
    }
    return broken;
}

}  // namespace dcra::clauses

DCRA_INDICES(clauses, place)
DCRA_INDICES(clauses, anneal_clauses)
DCRA_INDICES(clauses, walk_clauses)
DCRA_INDICES(clauses, propagate)
