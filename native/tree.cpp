// Breadth-first search behind a triangular matrix: the best few partial points are kept at each depth.

#include <limits>
#include <utility>

#include "export.hpp"
#include "lanes.hpp"

namespace dcra::tree {

struct TreeScratch {
    double *points, *fresh, *costs, *totals;
    int64_t* order;
    int64_t keep, n, q;
};

// Costs of all levels of unknown i on all branches; the largest cost of the best level of a branch.
//
// No cost above it is among the `size` smallest.
DCRA_INLINE double branch(const double* row, double z, int64_t i, const double* points, const TreeScratch& own,
                          int64_t size) {
    const int64_t n = own.n, q = own.q;
    double bound = 0;
    for (int64_t k = 0; k < size; ++k) {
        const double* point = points + k * n + i + 1;
        const double* after = row + i + 1;
        const double rest = z - sum<double>(n - i - 1, [=](auto lane, int64_t j) {
            return lane.load(after + j) * lane.load(point + j);
        });
        double least = std::numeric_limits<double>::infinity();
        for (int64_t l = 0; l < q; ++l) {
            const double e = rest - row[i] * double(2 * l - (q - 1)), total = own.costs[k] + e * e;
            own.totals[k * q + l] = total;
            least = total < least ? total : least;
        }
        bound = least > bound ? least : bound;
    }
    return bound;
}

// Bring the indices of the `count` smallest values to the front of `order`.
DCRA_INLINE void select(const double* values, int64_t* order, int64_t size, int64_t count) {
    int64_t lo = 0, hi = size - 1;
    while (lo < hi) {
        const double pivot = values[order[(lo + hi) / 2]];
        int64_t i = lo, j = hi;
        while (i <= j) {
            while (values[order[i]] < pivot) ++i;
            while (values[order[j]] > pivot) --j;
            if (i <= j) std::swap(order[i++], order[j--]);
        }
        if (count - 1 <= j) hi = j;
        else if (count - 1 >= i) lo = i;
        else break;
    }
}

// Fill out[f], f = lo .. hi, with levels of small |Z[f] - R u|^2, R upper triangular.
void breadth_first(const double* R, const double* Z, int64_t lo, int64_t hi, double* out, const TreeScratch& given,
                   int64_t n, int64_t) {
    const TreeScratch own = given;  // a copy: nothing that the loop writes can change it
    const int64_t q = own.q;
    double *points = own.points, *fresh = own.fresh;
    for (int64_t f = lo; f < hi; ++f) {
        int64_t size = 1;
        own.costs[0] = 0;
        for (int64_t i = n - 1; i >= 0; --i) {
            const double bound = branch(R + i * n, Z[f * n + i], i, points, own, size);
            int64_t count = 0;
            for (int64_t c = 0; c < size * q; ++c) {
                own.order[count] = c;
                count += size < own.keep || own.totals[c] <= bound;
            }
            const int64_t kept = count < own.keep ? count : own.keep;
            select(own.totals, own.order, count, kept);
            for (int64_t k = 0; k < kept; ++k) {
                const int64_t parent = own.order[k] / q;
                for (int64_t j = i + 1; j < n; ++j) fresh[k * n + j] = points[parent * n + j];
                fresh[k * n + i] = double(2 * (own.order[k] - parent * q) - (q - 1));
                own.costs[k] = own.totals[own.order[k]];
            }
            size = kept;
            std::swap(points, fresh);
        }
        int64_t best = 0;
        for (int64_t k = 1; k < size; ++k)
            if (own.costs[k] < own.costs[best]) best = k;
        for (int64_t j = 0; j < n; ++j) out[f * n + j] = points[best * n + j];
    }
}

}  // namespace dcra::tree

DCRA_PLAIN(tree, breadth_first)
