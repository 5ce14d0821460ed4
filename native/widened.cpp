// Products of a matrix of floats with a few points in double: nothing is converted in memory, and no other thread waited
// for. Rows are read once for all points.

#include "export.hpp"

namespace dcra::widened {

// Z = X A' for A of m rows and n columns.
void times_rows(const float* A, const double* X, double* Z, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) {
            const float* row = A + i * n;
            const double* x = X + p * n;
            double sum = 0;
            for (int64_t j = 0; j < n; ++j) sum += double(row[j]) * x[j];
            Z[p * m + i] = sum;
        }
}

// Add Y A to Z.
void add_rows(const float* A, const double* Y, double* Z, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) {
            const float* row = A + i * n;
            double* z = Z + p * n;
            const double y = Y[p * m + i];
            for (int64_t j = 0; j < n; ++j) z[j] += y * double(row[j]);
        }
}

}  // namespace dcra::widened

DCRA_PLAIN(widened, times_rows)
DCRA_PLAIN(widened, add_rows)
