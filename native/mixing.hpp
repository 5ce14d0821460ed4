// Rows of a low-rank factor: what couplings make of them, and where each is best.
#pragma once

#include <cmath>

#include "column.hpp"

namespace dcra::mixing {

// Columns c .. c + packs of pull = sum of factor V[row] over the entries at(0) .. at(size).
template <int packs, class F>
DCRA_INLINE void gather(int64_t size, const F& at, const double* V, int64_t k, int64_t c, double* pull) {
    using Numbers = Wide<double>;
    Pack<double> total[packs] = {};
    for (int64_t p = 0; p < size; ++p) {
        const auto [row, factor] = at(p);
        const double* v = V + row * k + c;
        DCRA_UNROLL
        for (int i = 0; i < packs; ++i) total[i] += splat<Pack<double>>(factor) * Numbers::load(v + i * Numbers::width);
    }
    for (int i = 0; i < packs; ++i) Numbers::store(pull + c + i * Numbers::width, total[i]);
}

// All columns. The last pack overlaps the one before it: both hold the same sums there.
template <class F> DCRA_INLINE void gather_all(int64_t size, const F& at, const double* V, int64_t k, double* pull) {
    constexpr int W = Wide<double>::width;
    int64_t c = 0;
    for (; c + 4 * W <= k; c += 4 * W) gather<4>(size, at, V, k, c, pull);
    for (; c + 2 * W <= k; c += 2 * W) gather<2>(size, at, V, k, c, pull);
    if (c + W <= k) gather<1>(size, at, V, k, c, pull), c += W;
    if (c < k && k >= W) return gather<1>(size, at, V, k, k - W, pull);
    for (; c < k; ++c) {
        pull[c] = 0;
        for (int64_t p = 0; p < size; ++p) pull[c] += at(p).value * V[at(p).row * k + c];
    }
}

// Row i of V becomes -p/|p|; what that gains.
DCRA_INLINE double settle(double* v, const double* p, int64_t k, double* multiplier) {
    double square = 0, product = 0;
    for (int64_t c = 0; c < k; ++c) square += p[c] * p[c], product += p[c] * v[c];
    const double size = std::sqrt(square);
    *multiplier = size;
    if (size > 0)
        for (int64_t c = 0; c < k; ++c) v[c] = -p[c] / size;
    return size + product;
}

}  // namespace dcra::mixing
