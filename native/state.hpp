// State shared by the loops: z = Ax - b, and score = [loss, linear part, best seen].
#pragma once

#include "column.hpp"

namespace dcra {

template <class T> DCRA_INLINE double row_value(int64_t kind, const T* p, double z) {
    const double k = p[1], e = p[2], lo = p[3], hi = p[4];
    if (kind == LOGISTIC) return logistic_value(z, k, e);
    if (kind == CAPPED) return capped_value(z, k, hi);
    if (k == 0) return sharp_value(z, e, lo, hi);
    return curved_value(z, 0.5 * k, 1.0 / k, e, lo, hi);
}

// Sum of w_i f(z_i) over the rows of a term, in float64.
template <class T, class F> DCRA_INLINE double exact_sum(const Term<T>& p, const T* z, const F& value) {
    double total = 0;
    if (p.weight)
        for (int64_t i = 0; i < p.size; ++i) total += double(p.weight[i]) * value(double(z[i]));
    else
        for (int64_t i = 0; i < p.size; ++i) total += value(double(z[i]));
    return total;
}

template <class T> DCRA_INLINE double loss_at(const Rows<T>& rows, const T* z) {
    double total = 0;
    for (int64_t t = 0; t < rows.terms; ++t) {
        const Term<T> p(rows, t);
        const T* u = z + rows.start[t];
        const double k = p.k, e = p.e, lo = p.lo, hi = p.hi;
        if (p.kind == LOGISTIC)
            total += exact_sum(p, u, [=](double v) { return logistic_value(v, k, e); });
        else if (p.kind == CAPPED)
            total += exact_sum(p, u, [=](double v) { return capped_value(v, k, hi); });
        else if (k == 0)
            total += exact_sum(p, u, [=](double v) { return sharp_value(v, e, lo, hi); });
        else
            total += exact_sum(p, u, [=](double v) { return curved_value(v, 0.5 * k, 1.0 / k, e, lo, hi); });
    }
    return total;
}

template <class T> DCRA_INLINE double linear_at(const T* c, const T* x, int64_t n) {
    double total = 0;
    for (int64_t j = 0; j < n; ++j) total += double(c[j]) * double(x[j]);
    return total;
}

// A change of the objective below this is rounding.
template <class T> DCRA_INLINE double rounding(double total) {
    return (sizeof(T) == 4 ? 1e-6 : 1e-12) * magnitude(total);
}

// A count from a float: between 0 and `most`, and 0 for what is not a number.
DCRA_INLINE int64_t whole(double v, double most) { return v > 0 ? int64_t(v < most ? v : most) : 0; }

// Flip x_j; `loss` is the loss that trial found for it.
template <class S, class T = typename S::Real>
DCRA_INLINE void commit(const Model<S>& model, T* x, T* z, double* score, int64_t j, double loss) {
    score[1] -= 2.0 * double(model.c[j]) * double(x[j]);
    x[j] = -x[j];
    shift(model.A, j, x[j] + x[j], z);
    score[0] = loss;
}

// Remember the current point as the best.
template <class T> DCRA_INLINE void keep(const T* x, T* best_x, int64_t n, double* score) {
    for (int64_t j = 0; j < n; ++j) best_x[j] = x[j];
    score[2] = score[0] + score[1];
}

}  // namespace dcra
