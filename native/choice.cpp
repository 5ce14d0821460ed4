// Tabu search over choices: exactly one spin of each group is up, and a move is another choice of one group.
//
// Where u is up and j is to be, the objective rises by -s_j g_j - s_u g_u - C_ju, as in quadratic_swap.cpp.

#include <limits>

#include "export.hpp"
#include "places.hpp"
#include "quadratic_pairs.hpp"

namespace dcra::choice {

// The spin that rises least when it becomes the choice of its group, -1 if all are tabu; ties are drawn.
template <class S, class T>
int64_t best_choice(const S& C, const T* s, const T* g, const double* score, uint64_t* rng, const int64_t* until,
                    int64_t now, double tiny, const int64_t* group, const int64_t* up) {
    double least = std::numeric_limits<double>::infinity();
    int64_t chosen = -1, ties = 0;
    for (int64_t j = 0; j < C.n; ++j) {
        const int64_t u = up[group[j]];
        if (u == j) continue;
        const double apart = -double(s[j]) * double(g[j]) - double(s[u]) * double(g[u]);
        const double rise = apart - coupling(C, j, u);
        if (until[j] > now && !(score[0] + rise < score[1] - tiny)) continue;
        if (rise < least) {
            least = rise, chosen = j, ties = 1;
        } else if (rise == least && below(rng, ++ties) == 0) {
            chosen = j;
        }
    }
    return chosen;
}

// Make `moves` best choices that are not tabu, or that beat the best point by more than `tiny`; best_s keeps it.
template <class S, class T = typename S::Real>
int64_t tabu_choices(const S& C, T* s, T* g, double* score, T* best_s, uint64_t* rng, int64_t* until, int64_t* clock,
                     int64_t moves, int64_t tenure, int64_t spread, double tiny, const int64_t* group, int64_t* up,
                     int64_t groups) {
    if (!all_within(group, C.n, groups) || !all_within(up, groups, C.n)) return OUTSIDE;
    int64_t work = moves * C.n;
    for (int64_t m = 0; m < moves; ++m) {
        const int64_t now = clock[0]++;
        const int64_t j = best_choice(C, s, g, score, rng, until, now, tiny, group, up);
        if (j < 0) continue;
        const int64_t u = up[group[j]];
        turn(C, s, g, score, u);
        turn(C, s, g, score, j);
        up[group[j]] = j;
        until[u] = now + tenure + below(rng, spread);
        work += length(C, u) + length(C, j);
        if (score[0] < score[1]) keep_spins(s, best_s, C.n, score);
    }
    return work;
}

}  // namespace dcra::choice

DCRA_STORES(choice, tabu_choices)
