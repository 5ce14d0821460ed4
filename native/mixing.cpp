// The SDP relaxation of s'Js + c's by its low-rank factor: every row of V in turn to where it is best.

#include "export.hpp"
#include "mixing.hpp"

namespace dcra::mixing {

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
