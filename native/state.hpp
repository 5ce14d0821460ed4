// State shared by the loops: z = Ax - b, and score = [loss, linear part, best seen].
#pragma once

#include "column.hpp"
#include "places.hpp"

namespace dcra {

// f(value), where value(z) is the loss of a row with the numbers p, in float64: it is chosen once for all rows.
template <class T, class F> DCRA_INLINE auto with_value(int64_t kind, const T* p, const F& f) {
    const double k = p[1], e = p[2], lo = p[3], hi = p[4];
    if (kind == LOGISTIC) return f([=](double z) { return logistic_value(z, k, e); });
    if (kind == CAPPED) return f([=](double z) { return capped_value(z, k, hi); });
    if (k == 0) return f([=](double z) { return sharp_value(z, e, lo, hi); });
    return f([=, half_k = 0.5 * k, slope = 1.0 / k](double z) { return curved_value(z, half_k, slope, e, lo, hi); });
}

template <class T> DCRA_APART double loss_at(const Rows<T>& rows, const T* z) {
    double total = 0;
    for (int64_t t = 0; t < rows.terms; ++t) {
        const T *weight = rows.weight, *at = z;
        const int64_t first = rows.start[t], last = rows.start[t + 1];
        total += with_value(rows.kind[t], rows.table + 5 * t, [=](const auto& value) {
            double part = 0;
            if (weight)
                for (int64_t i = first; i < last; ++i) part += double(weight[i]) * value(double(at[i]));
            else
                for (int64_t i = first; i < last; ++i) part += value(double(at[i]));
            return part;
        });
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
