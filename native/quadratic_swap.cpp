// The searches of quadratic.cpp under counts: swaps, which keep them, and flips that are charged for leaving them.
//
// For spins of opposite signs a swap raises the objective by -s_i g_i - s_j g_j - C_ij.

#include <limits>

#include "export.hpp"
#include "quadratic_pairs.hpp"

namespace dcra::quadratic_swap {

template <class S, class T>
DCRA_INLINE int64_t turn_counted(const S& C, T* s, T* g, double* score, const Counts& counts, int64_t j) {
    turn(C, s, g, score, j);
    moved(counts, s, j);
    return length(C, j);
}

// Flip j, alone or with a partner, if that rises by less than `most`.
template <class S, class T>
int64_t propose(const S& C, T* s, T* g, double* score, uint64_t* rng, const Counts& counts, int64_t j, double most) {
    const double own = -double(s[j] * g[j]);
    if (own < most && may_change(counts, s, j)) return turn_counted(C, s, g, score, counts, j);
    const auto [first, last] = partners(counts, s, j);
    const int64_t tries = last - first < TRIES ? last - first : TRIES;
    for (int64_t t = 0; t < tries; ++t) {
        const int64_t i = counts.members[first + below(rng, last - first)];
        if (own - double(s[i] * g[i]) - coupling(C, j, i) < most) {
            const int64_t work = turn_counted(C, s, g, score, counts, j);
            return work + tries + turn_counted(C, s, g, score, counts, i);
        }
    }
    return tries;
}

// One pass over the spins at each of `temperatures`; best_s keeps the best point.
template <class S, class T = typename S::Real>
int64_t anneal_swaps(const S& C, T* s, T* g, double* score, T* best_s, uint64_t* rng, const T* temperatures,
                     const T* thresholds, const Counts& given, int64_t passes, int64_t draws) {
    const Counts counts = given;  // a copy: nothing that the loop writes can change it
    const int64_t mask = draws - 1;
    int64_t work = C.n * passes;
    for (int64_t p = 0; p < passes; ++p) {
        const int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t j = 0; j < C.n; ++j)
            work += propose(C, s, g, score, rng, counts, j, double(temperatures[p] * thresholds[(place + j) & mask]));
        if (score[0] < score[1]) keep_spins(s, best_s, C.n, score);
    }
    return work;
}

struct Partner {
    double gain;
    int64_t who;
};

// The largest gain above `best` of flipping j, and with whom: j itself where alone.
template <class S, class T>
Partner best_swap(const S& C, const T* s, const T* g, const Counts& counts, int64_t j, double best, double reach) {
    const double own = double(s[j] * g[j]);
    int64_t who = j;
    if (own > best && may_change(counts, s, j)) best = own;
    const auto [first, last] = partners(counts, s, j);
    for (int64_t p = first; p < last; ++p) {
        const int64_t i = counts.members[p];
        double gain = own + double(s[i] * g[i]);
        if (gain + reach > best) {
            gain += coupling(C, j, i);
            if (gain > best) best = gain, who = i;
        }
    }
    return {best, who};
}

// Flip or swap whatever improves by more than `tiny`; one trial is one spin with its best partner.
template <class S, class T = typename S::Real>
int64_t descend_swaps(const S& C, T* s, T* g, double* score, int64_t* cursor, double tiny, int64_t trials,
                      const Counts& given, double reach) {
    const Counts counts = given;
    int64_t work = 0;
    if (!sound(cursor, C.n)) return OUTSIDE;
    for (int64_t t = 0; t < trials && cursor[1] < C.n; ++t) {
        const int64_t j = advance(cursor, C.n);
        const auto [first, last] = partners(counts, s, j);
        const auto [gain, who] = best_swap(C, s, g, counts, j, tiny, reach);
        work += 1 + last - first;
        if (gain > tiny) {
            cursor[1] = 0;
            work += turn_counted(C, s, g, score, counts, j);
            if (who != j) work += turn_counted(C, s, g, score, counts, who);
        }
    }
    score[1] = score[0];
    return work;
}

// Groups whose bounds may be left at a charge: rate[g] e^2 for e too many or too few.
template <class T> struct Tally {
    const int64_t* group;
    int64_t* ups;
    const int64_t* least;
    const int64_t* most;
    const T* rate;
    T* charge;  // [2 g], [2 g + 1]: what is to be paid when one more of group g goes down, and up
    int64_t n, groups;
};

// By how much a count is off.
template <class T> DCRA_INLINE int64_t excess(const Tally<T>& tally, int64_t group, int64_t ups) {
    if (ups > tally.most[group]) return ups - tally.most[group];
    return ups < tally.least[group] ? tally.least[group] - ups : 0;
}

// Note that a spin of a group went up (1) or down (0), and what the next one will be charged.
template <class T> DCRA_INLINE void count(const Tally<T>& tally, int64_t group, int64_t up) {
    tally.ups[group] += up + up - 1;
    const int64_t now = excess(tally, group, tally.ups[group]);
    for (int64_t side = 0; side < 2; ++side) {
        const int64_t then = excess(tally, group, tally.ups[group] + side + side - 1);
        tally.charge[2 * group + side] = tally.rate[group] * T(then * then - now * now);
    }
}

template <class T> bool within(const Tally<T>& tally) {
    for (int64_t group = 0; group < tally.groups; ++group)
        if (excess(tally, group, tally.ups[group]) > 0) return false;
    return true;
}

// Single flips at each of `temperatures`, charged for leaving the counts; best_s keeps the best point within them.
template <class S, class T = typename S::Real>
int64_t anneal_charged(const S& C, T* s, T* g, double* score, T* best_s, uint64_t* rng, const T* temperatures,
                       const T* thresholds, const Tally<T>& given, int64_t passes, int64_t draws) {
    const Tally<T> tally = given;
    const int64_t mask = draws - 1;
    int64_t work = C.n * passes;
    for (int64_t p = 0; p < passes; ++p) {
        const int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t j = 0; j < C.n; ++j) {
            const int64_t group = tally.group[j], up = s[j] < 0;
            if (tally.charge[2 * group + up] - s[j] * g[j] < temperatures[p] * thresholds[(place + j) & mask]) {
                turn(C, s, g, score, j);
                count(tally, group, up);
                work += length(C, j);
            }
        }
        if (score[0] < score[1] && within(tally)) keep_spins(s, best_s, C.n, score);
    }
    return work;
}

// The member of a group, of this sign, that flips at the lowest rise; -1 if there is none.
template <class T> int64_t cheapest(const T* s, const T* g, const Tally<T>& tally, int64_t group, T sign) {
    T best = -std::numeric_limits<T>::infinity();
    int64_t chosen = -1;
    for (int64_t j = 0; j < tally.n; ++j)
        if (tally.group[j] == group && s[j] * sign > 0 && s[j] * g[j] > best) best = s[j] * g[j], chosen = j;
    return chosen;
}

// Bring all counts within their bounds, by the flips that cost least; best_s keeps the point if it is the best.
template <class S, class T = typename S::Real>
int64_t settle(const S& C, T* s, T* g, double* score, T* best_s, const Tally<T>& tally) {
    int64_t work = 0;
    for (int64_t group = 0; group < tally.groups; ++group) {
        while (excess(tally, group, tally.ups[group]) > 0) {
            const int64_t sign = tally.ups[group] > tally.most[group] ? 1 : -1;
            const int64_t j = cheapest(s, g, tally, group, T(sign));
            if (j < 0) break;  // a field that is no number
            turn(C, s, g, score, j);
            tally.ups[group] -= sign;
            work += C.n;
        }
    }
    if (score[0] < score[1] && within(tally)) keep_spins(s, best_s, C.n, score);
    return work;
}

}  // namespace dcra::quadratic_swap

DCRA_STORES(quadratic_swap, anneal_swaps)
DCRA_STORES(quadratic_swap, descend_swaps)
DCRA_STORES(quadratic_swap, anneal_charged)
DCRA_STORES(quadratic_swap, settle)
