// Places in arrays that come from outside: loops look at them on the way, and return OUTSIDE where one is none.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace dcra {

constexpr int64_t OUTSIDE = -1;

DCRA_INLINE bool within(int64_t place, int64_t size) { return uint64_t(place) < uint64_t(size); }

inline bool all_within(const int64_t* places, int64_t count, int64_t size) {
    uint64_t largest = 0;
    for (int64_t p = 0; p < count; ++p) largest = uint64_t(places[p]) > largest ? uint64_t(places[p]) : largest;
    return count == 0 || largest < uint64_t(size);
}

// Whether a cursor [position, trials since the last flip] stands in a list of this size.
DCRA_INLINE bool sound(const int64_t* cursor, int64_t size) {
    return cursor[1] >= 0 && (size == 0 || within(cursor[0], size));
}

// The next position along a list, cyclically.
DCRA_INLINE int64_t advance(int64_t* cursor, int64_t size) {
    const int64_t place = cursor[0];
    cursor[0] = place + 1 < size ? place + 1 : 0;
    ++cursor[1];
    return place;
}

}  // namespace dcra
