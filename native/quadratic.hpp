// Couplings C = 8 J and the local fields g = field + C s / 2 = 2 c + 4 J s that flips keep up to date.
//
// Flipping s_j raises s'Js + c's by -s_j g_j and, with the new s_j, adds s_j C_j to g. J has no diagonal. Beside
// losses, s and g may be of another type than C.
#pragma once

#include "state.hpp"

namespace dcra {

// g += dx C_j, where g is of another type than C.
template <class T, class U> DCRA_INLINE void shift(const Dense<T>& C, int64_t j, U dx, U* g) {
    const T* a = C.cols + j * C.r;
    for (int64_t i = 0; i < C.r; ++i) g[i] = U(g[i] + dx * a[i]);
}

template <class T, class U> DCRA_INLINE void shift(const Sparse<T>& C, int64_t j, U dx, U* g) {
    for (int64_t p = C.ptr[j]; p < C.ptr[j + 1]; ++p) g[C.idx[p]] = U(g[C.idx[p]] + dx * C.val[p]);
}

// g = field + C s / 2.
template <class S, class F, class U> DCRA_INLINE void fields_at(const S& C, const F* field, const U* s, U* g) {
    for (int64_t j = 0; j < C.n; ++j) g[j] = U(field[j]);
    for (int64_t j = 0; j < C.n; ++j) shift(C, j, U(0.5) * s[j], g);
}

// Flip s_j.
template <class S, class T> DCRA_INLINE void turn(const S& C, T* s, T* g, double* score, int64_t j) {
    score[0] -= double(s[j]) * double(g[j]);
    s[j] = -s[j];
    shift(C, j, s[j], g);
}

// Remember the current point as the best; score = [value now, value of the best point, ...].
template <class T> DCRA_INLINE void keep_spins(const T* s, T* best_s, int64_t n, double* score) {
    for (int64_t j = 0; j < n; ++j) best_s[j] = s[j];
    score[1] = score[0];
}

}  // namespace dcra
