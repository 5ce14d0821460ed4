// Coordinate sweeps on the box form  x'Jx + c'x + rho sum(1 - x_j^2)  through the fields g = 2 c + 4 J x.

#include <cmath>

#include "quadratic.hpp"
#include "export.hpp"
#include "rng.hpp"

namespace dcra::quadratic_sweep {

// Every variable once; `bend` is the curvature along each.
template <class S, class T = typename S::Real>
int64_t pass(const S& C, T* x, T* g, const int64_t* blocks, int64_t q, double bend) {
    const int64_t n = C.n, width = (n + q - 1) / q;
    const double inverse = 1.0 / bend;
    int64_t work = 0;
    for (int64_t b = 0; b < q; ++b) {
        const int64_t first = blocks[b] * width, last = first + width < n ? first + width : n;
        for (int64_t j = first; j < last; ++j) {
            const T old = x[j];
            if (bend > 0) x[j] = T(clip(-double(g[j]) * inverse, -1.0, 1.0));
            else if (g[j] != 0) x[j] = g[j] < 0 ? T(1) : T(-1);
            if (x[j] != old) {
                shift(C, j, T(0.5) * (x[j] - old), g);
                work += length(C, j);
            }
            ++work;
        }
    }
    return work;
}

template <class T> double mean_square(const T* x, int64_t n) {
    double total = 0;
    for (int64_t j = 0; j < n; ++j) total += double(x[j]) * double(x[j]);
    return total / double(n);
}

// Run sweeps first .. last, of `total` that take x from the inside of the box to its corners.
template <class S, class T = typename S::Real>
int64_t sweep(const S& given, T* x, T* g, int64_t* blocks, uint64_t* rng, double* rho, double convexity, int64_t first,
              int64_t last, int64_t total, int64_t q) {
    const S C = given;
    int64_t work = 0;
    if (!all_within(blocks, q, q)) return OUTSIDE;
    if (q == 0 || C.n == 0) return 0;
    for (int64_t s = first; s < last; ++s) {
        shuffle(rng, blocks, q);
        work += pass(C, x, g, blocks, q, 4.0 * (convexity - rho[0]));
        rho[0] *= std::exp(std::sqrt((double(s) + 1.0) / double(total)) - mean_square(x, C.n));
    }
    return work;
}

}  // namespace dcra::quadratic_sweep

DCRA_STORES(quadratic_sweep, sweep)
