// Annealed swaps of quadratic_swap.cpp with losses beside: f(As - b) + c's + s'Js under counts; score as in mixed.cpp.

#include "export.hpp"
#include "quadratic_pairs.hpp"

namespace dcra::mixed_swap {

// Flip s_j; `loss` is what the losses will then be.
template <class S, class C, class T = typename S::Real>
DCRA_INLINE void turn(const Model<S>& model, const C& couplings, T* s, T* z, T* g, double* score, int64_t j,
                      double loss) {
    score[2] = loss;
    s[j] = -s[j];
    shift(model.A, j, s[j] + s[j], z);
    shift(couplings, j, s[j], g);
}

// Flip j, alone or with a partner, if that rises by less than `most`.
template <class S, class C, class T = typename S::Real>
int64_t propose(const Model<S>& model, const C& couplings, T* s, T* z, T* g, double* score, uint64_t* rng,
                const Counts& counts, int64_t j, double most) {
    const int64_t size = length(model.A, j);
    const double alone = trial(model.A, j, -(s[j] + s[j]), z, model.rows, score[2]);
    const double own = -double(s[j] * g[j]) - score[2];
    if (own + alone < most && may_change(counts, s, j)) {
        score[0] += own + alone;
        turn(model, couplings, s, z, g, score, j, alone);
        moved(counts, s, j);
        return 2 * size + length(couplings, j);
    }
    const auto [first, last] = partners(counts, s, j);
    const int64_t tries = last - first < TRIES ? last - first : TRIES;
    if (tries > 0) shift(model.A, j, -(s[j] + s[j]), z);
    for (int64_t t = 0; t < tries; ++t) {
        const int64_t i = counts.members[first + below(rng, last - first)];
        const double loss = trial(model.A, i, -(s[i] + s[i]), z, model.rows, alone);
        const double rise = own + loss - double(s[i] * g[i]) - coupling(couplings, j, i);
        if (rise < most) {
            score[0] += rise;
            s[j] = -s[j];  // z knows of it already
            shift(couplings, j, s[j], g);
            moved(counts, s, j);
            turn(model, couplings, s, z, g, score, i, loss);
            moved(counts, s, i);
            return (t + 4) * size + length(couplings, j) + length(couplings, i);
        }
    }
    if (tries > 0) shift(model.A, j, s[j] + s[j], z);
    return (tries + 3) * size;
}

// One pass over the spins at each of `temperatures`; best_s keeps the best point.
template <class S, class C, class T = typename S::Real>
int64_t anneal_swaps(const Model<S>& given, const C& given_couplings, T* s, T* z, T* g, double* score, T* best_s,
                     uint64_t* rng, const T* temperatures, const T* thresholds, const Counts& given_counts,
                     int64_t passes, int64_t draws) {
    const Model<S> model = given;  // copies: nothing that the loop writes can change them
    const C couplings = given_couplings;
    const Counts counts = given_counts;
    const int64_t n = model.A.n, mask = draws - 1;
    int64_t work = n * passes;
    for (int64_t p = 0; p < passes; ++p) {
        const int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t j = 0; j < n; ++j) {
            const double most = double(temperatures[p] * thresholds[(place + j) & mask]);
            work += propose(model, couplings, s, z, g, score, rng, counts, j, most);
        }
        if (score[0] < score[1]) keep_spins(s, best_s, n, score);
    }
    return work;
}

}  // namespace dcra::mixed_swap

DCRA_WITH_STORE(mixed_swap, anneal_swaps, dense64, dcra::Dense<double>)
DCRA_WITH_STORE(mixed_swap, anneal_swaps, sparse64, dcra::Sparse<double>)
