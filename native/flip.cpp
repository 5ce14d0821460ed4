// Descent by single flips and by pairs of flips.

#include "export.hpp"
#include "state.hpp"

namespace dcra::flip {

// Flip whatever improves, cyclically along `order`, for at most `trials` trials.
template <class S, class T = typename S::Real>
int64_t flip(const Model<S>& model, T* x, T* z, double* score, const int64_t* order, int64_t* cursor, int64_t trials,
             int64_t size) {
    int64_t work = 0;
    if (!sound(cursor, size)) return OUTSIDE;
    for (int64_t i = 0; i < trials && cursor[1] < size; ++i) {
        const int64_t j = order[advance(cursor, size)];
        if (!within(j, model.A.n)) return OUTSIDE;
        const int64_t entries = length(model.A, j);
        const double loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0]);
        work += entries;
        const double gain = score[0] - loss + 2.0 * double(model.c[j]) * double(x[j]);
        if (gain > rounding<T>(score[0])) {
            commit(model, x, z, score, j, loss);
            cursor[1] = 0;
            work += entries;
        }
    }
    score[2] = score[0] + score[1];
    return work;
}

// Flip order[first] and the best later partner if that improves; otherwise leave all as it was.
template <class S, class T = typename S::Real>
bool improve_pair(const Model<S>& model, T* x, T* z, double* score, const int64_t* order, int64_t size, int64_t first) {
    const int64_t i = order[first];
    const double before = score[0], before_linear = score[1];
    commit(model, x, z, score, i, trial(model.A, i, -(x[i] + x[i]), z, model.rows, before));
    const double alone = score[0];
    double best = rounding<T>(before), best_loss = alone;
    int64_t best_j = -1;
    for (int64_t p = 0; p < size; ++p) {
        const int64_t j = order[p];
        double loss = alone, gain = before - alone + before_linear - score[1];
        if (p != first) {
            loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, alone);
            gain = before - loss + before_linear - score[1] + 2.0 * double(model.c[j]) * double(x[j]);
        }
        if (gain > best) best = gain, best_j = j, best_loss = loss;
    }
    if (best_j >= 0 && best_j != i) {
        commit(model, x, z, score, best_j, best_loss);
    } else if (best_j < 0) {
        commit(model, x, z, score, i, before);
        score[1] = before_linear;
    }
    return best_j >= 0;
}

// Flip pairs of `order` that improve together; one trial is one first member.
template <class S, class T = typename S::Real>
int64_t pair(const Model<S>& model, T* x, T* z, double* score, const int64_t* order, int64_t* cursor, int64_t trials,
             int64_t size) {
    int64_t work = 0;
    if (!sound(cursor, size) || !all_within(order, size, model.A.n)) return OUTSIDE;
    for (int64_t i = 0; i < trials && cursor[1] < size; ++i) {
        const int64_t first = advance(cursor, size);
        if (improve_pair(model, x, z, score, order, size, first)) cursor[1] = 0;
        work += size * length(model.A, order[first]);
    }
    score[2] = score[0] + score[1];
    return work;
}

}  // namespace dcra::flip

DCRA_STORES(flip, flip)
DCRA_STORES(flip, pair)
