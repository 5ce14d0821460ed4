// Two lists of rows, sorted by the cells of a grid, and the pair of rows that are closest to each other.

#include <cmath>

#include "export.hpp"
#include "lanes.hpp"

namespace dcra::closest {

// The whole part of v; 0 for what no cell has.
DCRA_INLINE int64_t cell_of(double v) {
    constexpr double FAR = 0x1p62;
    return v >= -FAR && v <= FAR ? int64_t(std::floor(v)) : 0;
}

// The keys of rows first .. last, and how often each occurs, counted one place later in `start`.
void cells(const int32_t* rows, const double* shift, const double* scale, const uint64_t* factors, uint64_t drop,
           int64_t first, int64_t last, int64_t* key, int64_t* start, int64_t, int64_t m, int64_t) {
    for (int64_t i = first; i < last; ++i) {
        uint64_t mixed = 0;
        for (int64_t j = 0; j < m; ++j)
            mixed += uint64_t(cell_of((double(rows[i * m + j]) + shift[j]) * scale[j])) * factors[j];
        key[i] = int64_t(mixed >> drop);
        ++start[key[i] + 1];
    }
}

// Put rows first .. last at the places of their keys, which move on; origin says whence they came.
//
// Returns the rows that found a place: fewer than there are where keys or places are wrong.
int64_t scatter(const int32_t* rows, const int64_t* key, int64_t* place, int64_t first, int64_t last, int32_t* out,
                int64_t* origin, int64_t k, int64_t m, int64_t places) {
    int64_t placed = 0;
    for (int64_t i = first; i < last; ++i) {
        if (uint64_t(key[i]) >= uint64_t(places)) continue;
        const int64_t at = place[key[i]];
        if (uint64_t(at) >= uint64_t(k)) continue;
        ++place[key[i]];
        origin[at] = i;
        for (int64_t j = 0; j < m; ++j) out[at * m + j] = rows[i * m + j];
        ++placed;
    }
    return placed;
}

// Sum of absolute differences, as far as it matters: not below `bound` once it is not.
DCRA_INLINE int64_t distance_of(const int32_t* left, const int32_t* right, int64_t m, int64_t bound) {
    int64_t distance = 0;
    for (int64_t k = 0; k < m && distance < bound; ++k) {
        const int64_t d = int64_t(left[k]) - right[k];
        distance += d < 0 ? -d : d;
    }
    return distance;
}

// Compare the rows that share a key, for the keys first .. last; the pairs compared, or -1 where a start is wrong.
int64_t closest(const int32_t* left, const int64_t* left_start, const int32_t* right, const int64_t* right_start,
                int64_t first, int64_t last, int64_t* best, int64_t n_left, int64_t m, int64_t, int64_t n_right) {
    int64_t pairs = 0;
    for (int64_t key = first; key < last; ++key) {
        const int64_t i0 = left_start[key], i1 = left_start[key + 1], j0 = right_start[key], j1 = right_start[key + 1];
        if (i0 < 0 || i1 > n_left || j0 < 0 || j1 > n_right) return -1;
        for (int64_t i = i0; i < i1; ++i)
            for (int64_t j = j0; j < j1; ++j) {
                const int64_t distance = distance_of(left + i * m, right + j * m, m, best[0]);
                if (distance < best[0]) best[0] = distance, best[1] = i, best[2] = j;
            }
        if (i0 < i1 && j0 < j1) pairs += (i1 - i0) * (j1 - j0);
    }
    return pairs;
}

}  // namespace dcra::closest

DCRA_PLAIN(closest, cells)
DCRA_PLAIN(closest, scatter)
DCRA_PLAIN(closest, closest)
