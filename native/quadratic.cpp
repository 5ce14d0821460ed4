// Spins under couplings: s'Js + c's through its local fields g = 2 c + 4 J s, with C = 8 J.
//
// score = [value now, value of the best point].

#include <limits>

#include "quadratic.hpp"
#include "export.hpp"
#include "rng.hpp"

namespace dcra::quadratic {

template <class S, class T = typename S::Real> void fields(const S& C, const T* field, const T* s, T* g) {
    fields_at(C, field, s, g);
}

// Flip whatever improves by more than `tiny`, cyclically along `order`, for at most `trials` trials.
template <class S, class T = typename S::Real>
int64_t descend(const S& given, T* s, T* g, double* score, const int64_t* order, int64_t* cursor, double tiny,
                int64_t trials, int64_t size) {
    const S C = given;
    int64_t work = 0;
    if (!sound(cursor, size)) return OUTSIDE;
    for (int64_t i = 0; i < trials && cursor[1] < size; ++i) {
        const int64_t j = order[advance(cursor, size)];
        if (!within(j, C.n)) return OUTSIDE;
        ++work;
        if (double(s[j] * g[j]) > tiny) {
            turn(C, s, g, score, j);
            cursor[1] = 0;
            work += length(C, j);
        }
    }
    score[1] = score[0];
    return work;
}

// The neighbour whose flip gains most together with that of i, above `best`; -1 where there is none.
template <class S, class T = typename S::Real>
DCRA_INLINE int64_t partner_of(const S& C, const T* s, const T* g, int64_t i, double best) {
    const T alone = s[i] * g[i], own = s[i];
    int64_t partner = -1;
    for (int64_t p = 0; p < length(C, i); ++p) {
        const auto [j, coupling] = entry(C, i, p);
        const double gain = double(alone + s[j] * (g[j] - own * coupling));
        if (gain > best && j != i) best = gain, partner = j;
    }
    return partner;
}

// Flip coupled pairs that improve together; one trial is one first member with all its neighbours.
template <class S, class T = typename S::Real>
int64_t descend_pairs(const S& given, T* s, T* g, double* score, int64_t* cursor, double tiny, int64_t trials) {
    const S C = given;
    int64_t work = 0;
    if (!sound(cursor, C.n)) return OUTSIDE;
    for (int64_t i = 0; i < trials && cursor[1] < C.n; ++i) {
        const int64_t first = advance(cursor, C.n), partner = partner_of(C, s, g, first, tiny);
        work += length(C, first);
        if (partner >= 0) {
            turn(C, s, g, score, first);
            turn(C, s, g, score, partner);
            cursor[1] = 0;
        }
    }
    score[1] = score[0];
    return work;
}

// Propose spins first .. last at one temperature; e[j] is the threshold of spin j. Returns the couplings touched.
//
// A pack of spins is looked at together; from the first that is accepted on, one after another.
template <class S, class T = typename S::Real>
DCRA_INLINE int64_t propose(const S& C, T* s, T* g, double* score, int64_t first, int64_t last, T temperature,
                            const T* e) {
    int64_t work = 0, j = first;
    const auto accepted = [=](auto lane, int64_t i) {
        return -lane.load(s + i) * lane.load(g + i) < temperature * lane.load(e + i);
    };
    while (j < last) {
        int64_t end = j + Wide<T>::width;
        if (end <= last) {
            const unsigned found = marks(accepted(Wide<T>{}, j));
            j = found ? j + std::countr_zero(found) : end;
        } else {
            end = last;
        }
        for (; j < end; ++j)
            if (accepted(Single<T>{}, j)) {
                turn(C, s, g, score, j);
                work += length(C, j);
            }
    }
    return work;
}

// One pass over the spins at each of `temperatures`; best_s keeps the best point.
template <class S, class T = typename S::Real>
int64_t anneal(const S& given, T* s, T* g, double* score, T* best_s, uint64_t* rng, const T* temperatures,
               const T* thresholds, int64_t passes, int64_t size) {
    const S C = given;
    const int64_t n = C.n, mask = size - 1;
    int64_t work = n * passes;
    for (int64_t p = 0; p < passes; ++p) {
        const int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t j = 0, last; j < n; j = last) {  // up to where the thresholds begin again
            const int64_t at = (place + j) & mask;
            last = n - j < size - at ? n : j + size - at;
            work += propose(C, s, g, score, j, last, temperatures[p], thresholds + (at - j));
        }
        if (score[0] < score[1]) keep_spins(s, best_s, n, score);
    }
    return work;
}

// The spins that may not flip now: barred[j] is -inf for them and 0 for others, so that it can be added to gains.
template <class T> struct Barred {
    T* barred;
    int64_t* list;
    int64_t size;

    DCRA_INLINE void add(int64_t j) {
        if (barred[j] != 0) return;
        barred[j] = -std::numeric_limits<T>::infinity();
        list[size++] = j;
    }
};

constexpr double FAR = -3e38;  // a gain below this is none

// The best flip that is not barred, or the best of all where that beats the best point; -1 where there is none.
template <class T>
DCRA_INLINE int64_t best_move(const T* s, const T* g, const double* score, const int64_t* until, int64_t n, int64_t now,
                              Barred<T>& bar) {
    T best = T(FAR);
    int64_t chosen = n;
    for (int64_t p = 0; p < bar.size;) {
        const int64_t j = bar.list[p];
        if (until[j] <= now) {
            bar.barred[j] = 0;
            bar.list[p] = bar.list[--bar.size];
            continue;
        }
        const T gain = s[j] * g[j];
        if (gain > best || (gain == best && j < chosen)) best = gain, chosen = j;
        ++p;
    }
    const T* barred = bar.barred;
    const auto gain = [=](auto lane, int64_t i) { return lane.load(s + i) * lane.load(g + i) + lane.load(barred + i); };
    const T free = most<T>(n, T(FAR), gain);
    int64_t spare = -1;
    if (free > T(FAR))
        spare = find<T>(0, n, [=](auto lane, int64_t i) {
            return gain(lane, i) == splat<typename decltype(lane)::Value>(free);
        });
    if (free > best || (free == best && spare < chosen)) return spare;  // the best of all
    const double least = score[0] < score[1] ? score[0] : score[1];  // kept or not: pauses must not show
    return chosen < n && score[0] - double(best) < least ? chosen : spare;
}

// Make `moves` best flips that are not tabu, or that beat the best point. `barred` and `list` are scratch.
template <class S, class T = typename S::Real>
int64_t tabu(const S& given, T* s, T* g, double* score, const TabuMemory<T>& given_memory, int64_t moves,
             int64_t tenure, int64_t spread, T* barred, int64_t* list) {
    const S C = given;
    const TabuMemory<T> memory = given_memory;
    Barred<T> bar{barred, list, 0};
    int64_t work = 0;
    for (int64_t j = 0; j < C.n; ++j) {
        barred[j] = 0;
        if (memory.until[j] > memory.clock[0]) bar.add(j);
    }
    for (int64_t i = 0; i < moves; ++i) {
        const int64_t j = best_move(s, g, score, memory.until, C.n, memory.clock[0], bar);
        ++memory.clock[0];
        if (j < 0) continue;
        if (s[j] * g[j] <= 0 && score[0] < score[1]) keep_spins(s, memory.best, C.n, score);
        memory.until[j] = memory.clock[0] + tenure + below(memory.rng, spread);
        bar.add(j);
        turn(C, s, g, score, j);
        work += length(C, j) + C.n;
    }
    if (score[0] < score[1]) keep_spins(s, memory.best, C.n, score);
    return work;
}

}  // namespace dcra::quadratic

DCRA_STORES(quadratic, fields)
DCRA_STORES(quadratic, descend)
DCRA_STORES(quadratic, descend_pairs)
DCRA_STORES(quadratic, anneal)
DCRA_STORES(quadratic, tabu)
