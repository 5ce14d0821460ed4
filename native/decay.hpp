// exp(-v) without a call and without branches, so that loops over a few numbers become vector code.
#pragma once

#include <bit>
#include <cmath>

#include "lanes.hpp"

namespace dcra {

// exp(-v) for 0 <= v <= 700, to the last bits; something of no use, but harmless, elsewhere.
DCRA_INLINE double decay(double v) {
    constexpr double LOG2E = 1.4426950408889634, LN2_HIGH = 0.693147180369123816490, LN2_LOW = 1.90821492927058770002e-10;
    constexpr double WHOLE = 6755399441055744.0;  // added to it, a whole number is the low bits
    const double n = std::floor(0.5 - v * LOG2E);
    const double r = (-v - n * LN2_HIGH) - n * LN2_LOW, r2 = r * r, r4 = r2 * r2;
    const double low = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
    const double middle = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
    const double high = (1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
    const double series = low + r4 * (middle + r4 * (high + r4 * (1.0 / 479001600)));
    return std::bit_cast<double>(std::bit_cast<uint64_t>(series) + (std::bit_cast<uint64_t>(n + WHOLE) << 52));
}

}  // namespace dcra
