// Loops over a dense column, cut into terms; the loss is chosen once per term, never per row.
#pragma once

#include "rows.hpp"
#include "store.hpp"

namespace dcra {

// The rows of one term: its loss and, from its first row on, a column, the residual and the weights.
template <class T> struct Term {
    int64_t kind, size;
    T slope, k, e, lo, hi;
    const T* weight;

    DCRA_INLINE Term(const Rows<T>& rows, int64_t t)
        : kind(rows.kind[t]), size(rows.start[t + 1] - rows.start[t]), slope(rows.table[5 * t]),
          k(rows.table[5 * t + 1]), e(rows.table[5 * t + 2]), lo(rows.table[5 * t + 3]), hi(rows.table[5 * t + 4]),
          weight(rows.weight ? rows.weight + rows.start[t] : nullptr) {}
};

// Sum of w_i term(lane, i): whether there are weights is asked once.
template <class T, class F> DCRA_INLINE T weighted_sum(int64_t n, const T* weight, const F& term) {
    if (!weight) return sum<T>(n, term);
    return sum<T>(n, [=](auto lane, int64_t i) { return lane.load(weight + i) * term(lane, i); });
}

// The same one by one, for functions that the processor has no vector form of.
template <class T, class F> DCRA_INLINE T weighted_singles(int64_t n, const T* weight, const F& term) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += weight ? weight[i] * term(i) : term(i);
    return total;
}

// Losses beside the common ones stay out of line: one copy per file keeps the loops and their compilation small.
template <class T> DCRA_APART T rare_grad(const Term<T>& p, const T* a, const T* z) {
    const T slope = p.slope, k = p.k, e = p.e, lo = p.lo, hi = p.hi;
    if (p.kind == LOGISTIC)
        return weighted_singles<T>(p.size, p.weight, [=](int64_t i) { return a[i] * logistic_grad(z[i], k, e); });
    if (p.kind == CAPPED) {
        const T edge = capped_edge(slope, k, hi);
        return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
            return lane.load(a + i) * capped_grad(lane.load(z + i), slope, edge, lo, hi);
        });
    }
    return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
        return lane.load(a + i) * table_grad(lane.load(z + i), slope, e, lo, hi);
    });
}

template <class T> DCRA_INLINE T term_grad(const Term<T>& p, const T* a, const T* z) {
    const T slope = p.slope, lo = p.lo, hi = p.hi;
    if (p.kind != TABLE || p.e != 0) return rare_grad(p, a, z);
    return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
        return lane.load(a + i) * clip(lane.load(z + i) * slope, lo, hi);
    });
}

template <class T> DCRA_INLINE void add_column(int64_t n, T dx, const T* a, T* z) {
    each<T>(n, [=](auto lane, int64_t i) { lane.store(z + i, lane.load(z + i) + dx * lane.load(a + i)); });
}

template <class T> DCRA_INLINE T term_move_grad(const Term<T>& p, const T* a, T dx, const T* c, T* z) {
    const T slope = p.slope, lo = p.lo, hi = p.hi;
    if (p.kind == TABLE && p.e == 0)
        return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
            const auto u = lane.load(z + i) + dx * lane.load(a + i);
            lane.store(z + i, u);
            return lane.load(c + i) * clip(u * slope, lo, hi);
        });
    add_column(p.size, dx, a, z);
    return term_grad(p, c, z);
}

template <class T> DCRA_APART T rare_value(const Term<T>& p, const T* a, T dx, const T* z) {
    const T k = p.k, e = p.e, lo = p.lo, hi = p.hi;
    if (p.kind == LOGISTIC)
        return weighted_singles<T>(p.size, p.weight,
                                   [=](int64_t i) { return logistic_value(z[i] + dx * a[i], k, e); });
    if (p.kind == CAPPED)
        return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
            return capped_value(lane.load(z + i) + dx * lane.load(a + i), k, hi);
        });
    if (k > 0) {
        const T half_k = T(0.5) * k, slope = T(1) / k;
        return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
            return curved_value(lane.load(z + i) + dx * lane.load(a + i), half_k, slope, e, lo, hi);
        });
    }
    if (e > 0)
        return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
            return sharp_value(lane.load(z + i) + dx * lane.load(a + i), e, lo, hi);
        });
    return weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
        return steep_value(lane.load(z + i) + dx * lane.load(a + i), lo, hi);
    });
}

// The common one is hi |u|: two operations per entry instead of five.
template <class T> DCRA_INLINE T term_value(const Term<T>& p, const T* a, T dx, const T* z) {
    if (p.kind != TABLE || p.k > 0 || p.e > 0 || p.lo != -p.hi) return rare_value(p, a, dx, z);
    return p.hi * weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
        return magnitude(lane.load(z + i) + dx * lane.load(a + i));
    });
}

template <class T> DCRA_INLINE T grad(const Dense<T>& A, int64_t j, const T* z, const Rows<T>& rows) {
    const T* a = A.cols + j * A.r;
    T g = 0;
    for (int64_t t = 0; t < rows.terms; ++t) g += term_grad(Term<T>(rows, t), a + rows.start[t], z + rows.start[t]);
    return g;
}

template <class T>
DCRA_INLINE double trial(const Dense<T>& A, int64_t j, T dx, const T* z, const Rows<T>& rows, double) {
    const T* a = A.cols + j * A.r;
    double loss = 0;
    for (int64_t t = 0; t < rows.terms; ++t)
        loss += term_value(Term<T>(rows, t), a + rows.start[t], dx, z + rows.start[t]);
    return loss;
}

template <class T> DCRA_INLINE void shift(const Dense<T>& A, int64_t j, T dx, T* z) {
    add_column(A.r, dx, A.cols + j * A.r, z);
}

template <class T>
DCRA_INLINE T move_grad(const Dense<T>& A, int64_t j, T dx, int64_t k, T* z, const Rows<T>& rows) {
    const T *a = A.cols + j * A.r, *c = A.cols + k * A.r;
    T g = 0;
    for (int64_t t = 0; t < rows.terms; ++t) {
        const int64_t first = rows.start[t];
        g += term_move_grad(Term<T>(rows, t), a + first, dx, c + first, z + first);
    }
    return g;
}

template <class T> DCRA_INLINE int64_t length(const Dense<T>& A, int64_t) { return A.r; }

}  // namespace dcra
