// The SDP relaxation of s'Js + c's by its low-rank factor: every row of V in turn to where it is best.

#include <cmath>

#include "column.hpp"
#include "export.hpp"

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

// Visit rows first .. last of V; the sum of what they gained.
template <class S, class T = typename S::Real>
double mix(const S& given, const double* field, double* V, double* y, double* pull, int64_t first, int64_t last,
           int64_t k) {
    const S C = given;
    const int64_t n = C.n;
    double gained = 0;
    for (int64_t i = first; i < last; ++i) {
        if (i < n) {
            const auto neighbour = [&](int64_t p) {
                const auto [row, value] = entry(C, i, p);
                return Entry<double>{row, double(value)};
            };
            gather_all(length(C, i), neighbour, V, k, pull);
            const double border = 2.0 * field[i];
            for (int64_t c = 0; c < k; ++c) pull[c] += border * V[n * k + c];
        } else {
            gather_all(n, [&](int64_t j) { return Entry<double>{j, 2.0 * field[j]}; }, V, k, pull);
        }
        gained += settle(V + i * k, pull, k, y + i);
    }
    return gained;
}

}  // namespace dcra::mixing

DCRA_STORES(mixing, mix)
