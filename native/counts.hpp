// Groups of variables of which between least[g] and most[g] are up: the C side of `store.Counts`.
#pragma once

#include <cstdint>
#include <utility>

#include "lanes.hpp"

namespace dcra {

// Members of group g are members[start[g] .. start[g + 1]], those that are up first.
struct Counts {
    int64_t* group;
    int64_t* place;
    int64_t* members;
    const int64_t* start;
    int64_t* ups;
    const int64_t* least;
    const int64_t* most;
    int64_t n, groups;
};

struct Range {
    int64_t first, last;
};

// Whether x_j may flip alone.
template <class T> DCRA_INLINE bool may_change(const Counts& counts, const T* x, int64_t j) {
    const int64_t g = counts.group[j];
    return x[j] > 0 ? counts.ups[g] > counts.least[g] : counts.ups[g] < counts.most[g];
}

// Where in `members` those of j's group stand that have the other sign.
template <class T> DCRA_INLINE Range partners(const Counts& counts, const T* x, int64_t j) {
    const int64_t g = counts.group[j], edge = counts.start[g] + counts.ups[g];
    if (x[j] > 0) return {edge, counts.start[g + 1]};
    return {counts.start[g], edge};
}

// Note that x_j has just flipped: the members that are up stand first in their group.
template <class T> DCRA_INLINE void moved(const Counts& counts, const T* x, int64_t j) {
    const int64_t g = counts.group[j], up = x[j] > 0, here = counts.place[j];
    const int64_t edge = counts.start[g] + counts.ups[g] - (1 - up);
    if (edge < counts.start[g] || edge >= counts.start[g + 1]) return;  // counts of another x, or x is no sign
    const int64_t other = counts.members[edge];
    counts.ups[g] += up ? 1 : -1;
    counts.members[here] = other;
    counts.members[edge] = j;
    counts.place[other] = here;
    counts.place[j] = edge;
}

}  // namespace dcra
