// Loops over a sparse column. Its row indices are sorted, so they too fall into terms.
#pragma once

#include "dense.hpp"

namespace dcra {

// First position at or after p whose row belongs to a later term than row idx[p].
template <class T>
DCRA_INLINE int64_t segment_end(const int32_t* idx, int64_t p, int64_t end, const Rows<T>& rows) {
    if (rows.terms == 1) return end;
    const int64_t stop = rows.start[int64_t(rows.term[idx[p]]) + 1];
    ++p;  // row idx[p] is before `stop`
    while (p < end && idx[p] < stop) ++p;
    return p;
}

// Sum of w_i term(z_i, a_i) over stored entries first .. last.
template <class T, class F>
DCRA_INLINE T scattered_sum(const Sparse<T>& A, int64_t first, int64_t last, const T* z, const T* weight,
                            const F& term) {
    const int32_t* idx = A.idx;
    const T* val = A.val;
    T total = 0;
    if (weight)
        for (int64_t p = first; p < last; ++p) total += weight[idx[p]] * term(z[idx[p]], val[p]);
    else
        for (int64_t p = first; p < last; ++p) total += term(z[idx[p]], val[p]);
    return total;
}

// Losses beside the common ones stay out of line, as in dense.hpp.
template <class T>
DCRA_APART T rare_grad(const Term<T>& t, const Sparse<T>& A, int64_t first, int64_t last, const T* z, const T* w) {
    const T slope = t.slope, k = t.k, e = t.e, lo = t.lo, hi = t.hi;
    if (t.kind == LOGISTIC)
        return scattered_sum(A, first, last, z, w, [=](T u, T a) { return a * logistic_grad(u, k, e); });
    const T edge = capped_edge(slope, k, hi);
    return scattered_sum(A, first, last, z, w, [=](T u, T a) { return a * capped_grad(u, slope, edge, lo, hi); });
}

template <class T>
DCRA_INLINE T segment_grad(const Term<T>& t, const Sparse<T>& A, int64_t first, int64_t last, const T* z,
                           const T* w) {
    const T slope = t.slope, e = t.e, lo = t.lo, hi = t.hi;
    if (t.kind != TABLE) return rare_grad(t, A, first, last, z, w);
    return scattered_sum(A, first, last, z, w, [=](T u, T a) { return a * table_grad(u, slope, e, lo, hi); });
}

template <class T>
DCRA_APART T rare_change(const Term<T>& t, const Sparse<T>& A, int64_t first, int64_t last, T dx, const T* z,
                         const T* w) {
    const T k = t.k, e = t.e, lo = t.lo, hi = t.hi;
    if (t.kind == LOGISTIC)
        return scattered_sum(A, first, last, z, w, [=](T u, T a) {
            return logistic_value(u + dx * a, k, e) - logistic_value(u, k, e);
        });
    if (t.kind == CAPPED)
        return scattered_sum(A, first, last, z, w,
                             [=](T u, T a) { return capped_value(u + dx * a, k, hi) - capped_value(u, k, hi); });
    const T half_k = T(0.5) * k, slope = T(1) / k;
    return scattered_sum(A, first, last, z, w, [=](T u, T a) {
        return curved_value(u + dx * a, half_k, slope, e, lo, hi) - curved_value(u, half_k, slope, e, lo, hi);
    });
}

template <class T>
DCRA_INLINE T segment_change(const Term<T>& t, const Sparse<T>& A, int64_t first, int64_t last, T dx, const T* z,
                             const T* w) {
    const T e = t.e, lo = t.lo, hi = t.hi;
    if (t.kind != TABLE || t.k != 0) return rare_change(t, A, first, last, dx, z, w);
    return scattered_sum(A, first, last, z, w, [=](T u, T a) {
        return sharp_value(u + dx * a, e, lo, hi) - sharp_value(u, e, lo, hi);
    });
}

template <class T> DCRA_INLINE T grad(const Sparse<T>& A, int64_t j, const T* z, const Rows<T>& rows) {
    T g = 0;
    for (int64_t p = A.ptr[j], end = A.ptr[j + 1]; p < end;) {
        const int64_t q = segment_end(A.idx, p, end, rows);
        g += segment_grad(Term<T>(rows, rows.term[A.idx[p]]), A, p, q, z, rows.weight);
        p = q;
    }
    return g;
}

template <class T>
DCRA_INLINE double trial(const Sparse<T>& A, int64_t j, T dx, const T* z, const Rows<T>& rows, double loss) {
    for (int64_t p = A.ptr[j], end = A.ptr[j + 1]; p < end;) {
        const int64_t q = segment_end(A.idx, p, end, rows);
        loss += segment_change(Term<T>(rows, rows.term[A.idx[p]]), A, p, q, dx, z, rows.weight);
        p = q;
    }
    return loss;
}

template <class T> DCRA_INLINE void shift(const Sparse<T>& A, int64_t j, T dx, T* z) {
    for (int64_t p = A.ptr[j]; p < A.ptr[j + 1]; ++p) z[A.idx[p]] += dx * A.val[p];
}

template <class T>
DCRA_INLINE T move_grad(const Sparse<T>& A, int64_t j, T dx, int64_t k, T* z, const Rows<T>& rows) {
    shift(A, j, dx, z);
    return grad(A, k, z, rows);
}

template <class T> DCRA_INLINE int64_t length(const Sparse<T>& A, int64_t j) { return A.ptr[j + 1] - A.ptr[j]; }

}  // namespace dcra
