// What swaps with and without losses beside share: the coupling of two spins.
#pragma once

#include <algorithm>

#include "counts.hpp"
#include "quadratic.hpp"
#include "rng.hpp"

namespace dcra {

constexpr int64_t TRIES = 4;  // partners looked at for one spin

// C_ij.
template <class T> DCRA_INLINE double coupling(const Dense<T>& C, int64_t j, int64_t i) {
    return double(C.cols[j * C.r + i]);
}

template <class T> DCRA_INLINE double coupling(const Sparse<T>& C, int64_t j, int64_t i) {
    const int32_t *first = C.idx + C.ptr[j], *last = C.idx + C.ptr[j + 1];
    const int32_t* found = std::lower_bound(first, last, int32_t(i));
    return found != last && *found == i ? double(C.val[found - C.idx]) : 0.0;
}

}  // namespace dcra
