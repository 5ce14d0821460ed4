// The residual z = Ax - b and the objective of a point, from scratch.

#include "state.hpp"

#include "export.hpp"

namespace dcra::state {

// z = A x - b.
template <class S, class T = typename S::Real> void refresh(const Model<S>& model, const T* b, const T* x, T* z) {
    for (int64_t i = 0; i < model.rows.r; ++i) z[i] = -b[i];
    for (int64_t j = 0; j < model.A.n; ++j)
        if (x[j] != 0) shift(model.A, j, x[j], z);
}

// The objective at x, accumulated in float64.
template <class S, class T = typename S::Real> double value(const Model<S>& model, const T* x, const T* z) {
    return loss_at(model.rows, z) + linear_at(model.c, x, model.A.n);
}

// Set score = [loss, linear part, objective] for the point (x, z).
template <class S, class T = typename S::Real>
void measure(const Model<S>& model, const T* x, const T* z, double* score) {
    score[0] = loss_at(model.rows, z);
    score[1] = linear_at(model.c, x, model.A.n);
    score[2] = score[0] + score[1];
}

}  // namespace dcra::state

DCRA_STORES(state, refresh)
DCRA_STORES(state, value)
DCRA_STORES(state, measure)
