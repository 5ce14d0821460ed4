// Exact enumeration in Gray-code order.

#include <bit>
#include <limits>

#include "export.hpp"
#include "state.hpp"

namespace dcra::gray {

constexpr int64_t BLOCK = 1024;

// The point at position c of the Gray sequence, and its residual.
template <class S, class T = typename S::Real>
void place(const Model<S>& model, const T* b, int64_t c, T* x, T* z) {
    for (int64_t i = 0; i < model.rows.r; ++i) z[i] = -b[i];
    for (int64_t j = 0; j < model.A.n; ++j) {
        x[j] = (c ^ (c >> 1)) >> j & 1 ? T(-1) : T(1);
        shift(model.A, j, x[j], z);
    }
}

// Best objective over positions lo .. hi of the Gray sequence, in *code its lowest position, and in least[] the best
// of each block that the range touches.
template <class S, class T = typename S::Real>
double gray(const Model<S>& model, const T* b, int64_t lo, int64_t hi, T* x, T* z, int64_t* code, double* least,
            int64_t) {
    double best = std::numeric_limits<double>::infinity();
    *code = lo;
    for (int64_t base = lo - lo % BLOCK; base < hi; base += BLOCK, ++least) {
        place(model, b, base, x, z);
        double loss = loss_at(model.rows, z), linear = linear_at(model.c, x, model.A.n);
        *least = std::numeric_limits<double>::infinity();
        for (int64_t c = base; c < base + BLOCK && c < hi; ++c) {
            if (c > base) {
                const int64_t j = std::countr_zero(uint64_t(c));
                loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, loss);
                linear -= 2.0 * double(model.c[j]) * double(x[j]);
                x[j] = -x[j];
                shift(model.A, j, x[j] + x[j], z);
            }
            if (c < lo) continue;
            if (loss + linear < *least) *least = loss + linear;
            if (*least < best) best = *least, *code = c;
        }
    }
    return best;
}

}  // namespace dcra::gray

DCRA_STORES(gray, gray)
