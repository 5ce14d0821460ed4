// Tabu search over permutations for sum_ij F_ij D_p(i)p(j): the change of every swap is at hand.
//
// After a swap, the changes of pairs that it does not touch are corrected in O(1), the others computed anew. All
// loops run along rows, because what p permutes is kept in its order: P_ij = D_p(i)p(j), and for i < j the earlier
// and the later of until[i, p_j] and until[j, p_i].

#include <limits>

#include "export.hpp"
#include "places.hpp"
#include "rng.hpp"

namespace dcra::swaps {

// change[j] of the swap (r, j), for first <= j < n; that of r itself is meaningless.
//
// (F_rr - F_jj)(P_jj - P_rr) + (F_rj - F_jr)(P_jr - P_rj) and, over all k but r and j,
// (F_kr - F_kj)(P_kj - P_kr) + (F_rk - F_jk)(P_jk - P_rk).
void row_of_changes(const double* F, const double* P, int64_t n, int64_t r, int64_t first, double* change) {
    const auto product = [=](int64_t k, int64_t j) {
        return (F[k * n + r] - F[k * n + j]) * (P[k * n + j] - P[k * n + r]);
    };
    for (int64_t j = first; j < n; ++j) change[j] = 0;
    for (int64_t k = 0; k < n; ++k) {
        const double f = F[k * n + r], d = P[k * n + r], *Fk = F + k * n, *Pk = P + k * n;
        each<double>(n - first, [=](auto lane, int64_t i) {
            const int64_t j = first + i;
            lane.store(change + j, lane.load(change + j) + (f - lane.load(Fk + j)) * (lane.load(Pk + j) - d));
        });
    }
    const double *Fr = F + r * n, *Pr = P + r * n;
    for (int64_t j = first; j < n; ++j) {
        const double *Fj = F + j * n, *Pj = P + j * n;
        const double across = sum<double>(n, [=](auto lane, int64_t k) {
            return (lane.load(Fr + k) - lane.load(Fj + k)) * (lane.load(Pj + k) - lane.load(Pr + k));
        });
        const double ends = (Fr[r] - Fj[r]) * (Pj[r] - Pr[r]) + (Fr[j] - Fj[j]) * (Pj[j] - Pr[j]);
        change[j] += across - ends - product(r, j) - product(j, j) + (Fr[r] - Fj[j]) * (Pj[j] - Pr[r]) +
                     (Fr[j] - Fj[r]) * (Pj[r] - Pr[j]);
    }
}

void permute(const double* D, const int64_t* p, int64_t n, double* P) {
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) P[i * n + j] = D[p[i] * n + p[j]];
}

// change[i, j] of every swap i < j. P is scratch.
int64_t changes(const double* F, const double* D, const int64_t* p, double* change, double* P, int64_t n) {
    if (!all_within(p, n, n)) return OUTSIDE;
    permute(D, p, n, P);
    for (int64_t i = 0; i < n; ++i) row_of_changes(F, P, n, i, i + 1, change + i * n);
    return n * n;
}

// Scratch of a search: see the beginning of this file.
struct Permuted {
    double *P, *row;  // (n, n), (4 n)
    int64_t *earlier, *later;
};

DCRA_INLINE void note_until(const int64_t* until, const int64_t* p, int64_t n, const Permuted& q, int64_t i,
                            int64_t j) {
    const int64_t a = until[i * n + p[j]], b = until[j * n + p[i]], at = i < j ? i * n + j : j * n + i;
    q.earlier[at] = a < b ? a : b;
    q.later[at] = a < b ? b : a;
}

// As many int64_t as a lane has numbers.
template <class V> DCRA_INLINE auto load_like(Lane<double, V>, const int64_t* p) {
    if constexpr (sizeof(V) == sizeof(double)) return *p;
    else return Wide<int64_t>::load(p);
}

struct Swap {
    int64_t r, s;
};

// The best swap among those that would beat the best permutation or were not made for very long; where there is
// none, among those that are not tabu.
DCRA_INLINE Swap best_swap(const double* change, const double* cost, int64_t n, const Permuted& q, int64_t now) {
    const int64_t stale = now - n * n * 5;
    const double value = cost[0], aim = cost[1] - 1e-9 * magnitude(cost[1]);
    double least = std::numeric_limits<double>::infinity();
    bool forced = false;
    Swap best{-1, -1};
    for (int64_t i = 0; i < n; ++i) {
        const double* rise = change + i * n;
        const int64_t *earlier = q.earlier + i * n, *later = q.later + i * n;
        int64_t j = i + 1;
        const auto look = [&] {
            const bool wanted = value + rise[j] < aim || later[j] < stale;
            const bool allowed = wanted || (!forced && earlier[j] < now);
            if ((wanted && !forced) || (allowed && rise[j] < least)) {
                best = {i, j}, least = rise[j];
                forced = forced || wanted;
            }
        };
        const auto promising = [&](auto lane, int64_t k) {
            using V = typename decltype(lane)::Value;
            const V r = lane.load(rise + k);
            const auto old = load_like(lane, later + k) < stale;
            return (r < splat<V>(least)) | (value + r < splat<V>(aim)) | old;
        };
        for (; (j = find<double>(j, n, promising)) < n; ++j) look();
    }
    return best;
}

// Exchange rows and columns r and s of P.
DCRA_INLINE void exchange(double* P, int64_t n, int64_t r, int64_t s) {
    for (int64_t k = 0; k < n; ++k) std::swap(P[r * n + k], P[s * n + k]);
    for (int64_t k = 0; k < n; ++k) std::swap(P[k * n + r], P[k * n + s]);
}

// The changes after r and s have been exchanged.
DCRA_INLINE void correct(const double* F, double* change, int64_t n, const Permuted& q, int64_t r, int64_t s) {
    const double* P = q.P;
    double *f = q.row, *d = f + n, *f_down = d + n, *d_down = f_down + n;
    for (int64_t k = 0; k < n; ++k) {
        f[k] = F[r * n + k] - F[s * n + k];
        d[k] = P[s * n + k] - P[r * n + k];
        f_down[k] = F[k * n + r] - F[k * n + s];
        d_down[k] = P[k * n + s] - P[k * n + r];
    }
    for (int64_t i = 0; i < n; ++i) {
        const double fi = f[i], di = d[i], fi_down = f_down[i], di_down = d_down[i];
        double* rise = change + i * n;
        each<double>(n - i - 1, [=](auto lane, int64_t k) {
            const int64_t j = i + 1 + k;
            lane.store(rise + j, lane.load(rise + j) + (fi - lane.load(f + j)) * (di - lane.load(d + j)) +
                                     (fi_down - lane.load(f_down + j)) * (di_down - lane.load(d_down + j)));
        });
    }
    for (const int64_t i : {r, s}) {
        row_of_changes(F, P, n, i, 0, q.row);
        for (int64_t j = 0; j < i; ++j) change[j * n + i] = q.row[j];
        for (int64_t j = i + 1; j < n; ++j) change[i * n + j] = q.row[j];
    }
}

// Make `moves` best swaps that are not tabu, or that beat the best permutation. `floats` and `ints` are scratch.
int64_t search(const double* F, const double* D, int64_t* p, double* cost, int64_t* best_p, double* change,
               int64_t* until, int64_t* clock, uint64_t* rng, int64_t moves, double* floats, int64_t* ints, int64_t n) {
    if (!all_within(p, n, n)) return OUTSIDE;
    const Permuted q{floats, floats + n * n, ints, ints + n * n};
    const int64_t tenure = n - n / 10, spread = 1 + n / 5;
    permute(D, p, n, q.P);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = i + 1; j < n; ++j) note_until(until, p, n, q, i, j);
    for (int64_t move = 0; move < moves; ++move) {
        const int64_t now = ++clock[0];
        const auto [r, s] = best_swap(change, cost, n, q, now);
        if (r < 0) continue;
        cost[0] += change[r * n + s];
        std::swap(p[r], p[s]);
        exchange(q.P, n, r, s);
        correct(F, change, n, q, r, s);
        until[r * n + p[s]] = now + tenure + below(rng, spread);
        until[s * n + p[r]] = now + tenure + below(rng, spread);
        for (int64_t k = 0; k < n; ++k) {
            if (k != r) note_until(until, p, n, q, k, r);
            if (k != s) note_until(until, p, n, q, k, s);
        }
        if (cost[0] < cost[1]) {
            cost[1] = cost[0];
            for (int64_t i = 0; i < n; ++i) best_p[i] = p[i];
        }
    }
    return moves < 0 ? 0 : moves;
}

}  // namespace dcra::swaps

DCRA_PLAIN(swaps, changes)
DCRA_PLAIN(swaps, search)
