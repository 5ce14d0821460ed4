// Annealing that keeps counts: one variable of a group goes up while another goes down.

#include <cmath>
#include <type_traits>

#include "counts.hpp"
#include "export.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::swap {

DCRA_INLINE bool accepted(double rise, double temperature, uint64_t* rng) {
    return rise <= 0 || (rise < 40.0 * temperature && uniform(rng) < std::exp(-rise / temperature));
}

// Flip j alone, or with a partner, if that is accepted.
template <class S, class T = typename S::Real>
DCRA_INLINE int64_t propose(const Model<S>& model, T* x, T* z, double* score, T* best_x, uint64_t* rng,
                            const Counts& counts, int64_t j, double temperature, int64_t tries) {
    const int64_t size = length(model.A, j);
    const double linear = 2.0 * double(model.c[j]) * double(x[j]);
    const auto [first, last] = partners(counts, x, j);
    const int64_t most = tries < last - first ? tries : last - first;
    const bool alone = may_change(counts, x, j);
    const auto accept = [&](double rise) {
        if (!accepted(rise, temperature, rng)) return false;
        if (rise > 0 && score[0] + score[1] < score[2]) keep(x, best_x, model.A.n, score);
        return true;
    };
    double base = score[0];
    if (alone || std::is_same_v<S, Sparse<T>>)  // sparse trials begin with the loss there is
        base = trial(model.A, j, -(x[j] + x[j]), z, model.rows, base);
    if (alone && accept(base - score[0] - linear)) {
        commit(model, x, z, score, j, base);
        moved(counts, x, j);
        return 3 * size;
    }
    if (most <= 0) return 3 * size;
    shift(model.A, j, -(x[j] + x[j]), z);
    for (int64_t t = 1; t <= most; ++t) {
        const int64_t i = counts.members[first + below(rng, last - first)];
        const double loss = trial(model.A, i, -(x[i] + x[i]), z, model.rows, base);
        if (accept(loss - score[0] - linear - 2.0 * double(model.c[i]) * double(x[i]))) {
            score[1] -= linear;
            x[j] = -x[j];
            moved(counts, x, j);
            commit(model, x, z, score, i, loss);
            moved(counts, x, i);
            return (t + 3) * size;
        }
    }
    shift(model.A, j, x[j] + x[j], z);
    return (most + 3) * size;
}

// One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.
template <class S, class T = typename S::Real>
int64_t anneal_swaps(const Model<S>& given, T* x, T* z, double* score, T* best_x, uint64_t* rng,
                     const double* temperatures, const Counts& given_counts, int64_t tries, int64_t passes) {
    const Model<S> model = given;  // copies: nothing that the loop writes can change them
    const Counts counts = given_counts;
    const int64_t n = model.A.n;
    int64_t work = 0;
    for (int64_t p = 0; p < passes; ++p) {
        for (int64_t i = 0; i < n; ++i)
            work += propose(model, x, z, score, best_x, rng, counts, below(rng, n), temperatures[p], tries);
        if (score[0] + score[1] < score[2]) keep(x, best_x, n, score);
    }
    return work;
}

}  // namespace dcra::swap

DCRA_STORES(swap, anneal_swaps)
