// One-flip tabu search with the rise of every flip at hand.

#include <limits>

#include "export.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::tabu {

// rises[j] = change of the objective when x_j flips. Returns the entries of A touched.
template <class S, class T = typename S::Real>
int64_t rises_at(const Model<S>& model, const T* x, const T* z, const double* score, double* rises) {
    int64_t work = 0;
    for (int64_t j = 0; j < model.A.n; ++j) {
        const double loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0]);
        rises[j] = loss - score[0] - 2.0 * double(model.c[j]) * double(x[j]);
        work += length(model.A, j);
    }
    return work;
}

DCRA_INLINE int64_t best_move(const double* score, const double* rises, const int64_t* until, int64_t n, int64_t now) {
    const double value = score[0] + score[1];
    const double room = (score[2] < value ? score[2] : value) - value;
    double rise = std::numeric_limits<double>::infinity();
    int64_t best = -1, j = 0;
    const auto look = [&] {
        if (rises[j] < rise && (until[j] <= now || rises[j] < room)) best = j, rise = rises[j];
    };
    const auto lower = [&](auto lane, int64_t i) {
        return lane.load(rises + i) < splat<typename decltype(lane)::Value>(rise);
    };
    for (; (j = find<double>(j, n, lower)) < n; ++j) look();
    return best;
}

template <class T>
int64_t move(const Model<Dense<T>>& model, const Dense<T>&, T* x, T* z, double* score, double* rises, int64_t j) {
    commit(model, x, z, score, j, trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0]));
    return rises_at(model, x, z, score, rises);
}

template <class T>
DCRA_INLINE int64_t redo_row(const Rows<T>& rows, const Sparse<T>& mirror, const T* x, double* rises, int64_t i, T old_z,
                             T new_z) {
    const int64_t t = rows.term[i];
    const double w = rows.weight ? double(rows.weight[i]) : 1.0, before = old_z, after = new_z;
    with_value(rows.kind[t], rows.table + 5 * t, [=](const auto& value) {
        const double base = value(after) - value(before);
        for (int64_t q = mirror.ptr[i]; q < mirror.ptr[i + 1]; ++q) {
            const int64_t k = mirror.idx[q];
            const double step = -double((x[k] + x[k]) * mirror.val[q]);
            rises[k] += w * (value(after + step) - value(before + step) - base);
        }
    });
    return mirror.ptr[i + 1] - mirror.ptr[i];
}

// Flip x_j and redo, in the rises, the rows it touches.
template <class T>
int64_t move(const Model<Sparse<T>>& model, const Sparse<T>& mirror, T* x, T* z, double* score, double* rises,
             int64_t j) {
    const Sparse<T>& A = model.A;
    const double rise = rises[j], loss = score[0] + rise + 2.0 * double(model.c[j]) * double(x[j]);
    int64_t work = 0;
    for (int64_t p = A.ptr[j]; p < A.ptr[j + 1]; ++p) {
        const int64_t i = A.idx[p];
        work += redo_row(model.rows, mirror, x, rises, i, z[i], z[i] - (x[j] + x[j]) * A.val[p]);
    }
    commit(model, x, z, score, j, loss);
    rises[j] = -rise;
    return work + length(A, j);
}

// Make `moves` best flips that are not tabu, or that beat the best point. `mirror` is A by rows where it is sparse.
template <class S, class T = typename S::Real>
int64_t tabu(const Model<S>& model, const S& mirror, T* x, T* z, double* score, T* best_x, double* rises,
             int64_t* until, int64_t* clock, uint64_t* rng, int64_t moves, int64_t tenure) {
    const int64_t n = model.A.n;
    int64_t work = 0;
    for (int64_t i = 0; i < moves; ++i) {
        const int64_t j = best_move(score, rises, until, n, clock[0]);
        ++clock[0];
        if (j < 0) continue;
        if (rises[j] >= 0 && score[0] + score[1] < score[2]) keep(x, best_x, n, score);
        until[j] = clock[0] + tenure + below(rng, 1 + tenure / 3);
        work += move(model, mirror, x, z, score, rises, j);
    }
    if (score[0] + score[1] < score[2]) keep(x, best_x, n, score);
    return work;
}

}  // namespace dcra::tabu

DCRA_STORES(tabu, rises_at)
DCRA_STORES(tabu, tabu)
