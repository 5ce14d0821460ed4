// Xoshiro256++ on a uint64[4] state owned by the caller; `_kernels/seed.py` makes the same states in Python.
#pragma once

#include <cstdint>
#include <utility>

#include "lanes.hpp"

namespace dcra {

inline constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15, MIX1 = 0xBF58476D1CE4E5B9, MIX2 = 0x94D049BB133111EB;

DCRA_INLINE uint64_t mix(uint64_t v) {
    v = (v ^ (v >> 30)) * MIX1;
    v = (v ^ (v >> 27)) * MIX2;
    return v ^ (v >> 31);
}

// Set `rng` to `seed.state(seed, index)`.
DCRA_INLINE void reseed(uint64_t* rng, uint64_t seed, uint64_t index) {
    uint64_t v = mix(seed + GOLDEN) + index * GOLDEN;
    for (int i = 0; i < 4; ++i) {
        v += GOLDEN;
        rng[i] = mix(v ^ index);
    }
}

// Next 64 random bits.
DCRA_INLINE uint64_t draw(uint64_t* rng) {
    const uint64_t s0 = rng[0], s1 = rng[1], s2 = rng[2] ^ s0, s3 = rng[3] ^ s1, v = s0 + rng[3];
    rng[0] = s0 ^ s3;
    rng[1] = s1 ^ s2;
    rng[2] = s2 ^ (s1 << 17);
    rng[3] = (s3 << 45) | (s3 >> 19);
    return ((v << 23) | (v >> 41)) + s0;
}

// A double in [0, 1).
DCRA_INLINE double uniform(uint64_t* rng) { return double(int64_t(draw(rng) >> 11)) * 0x1p-53; }

// An integer in [0, n).
DCRA_INLINE int64_t below(uint64_t* rng, int64_t n) { return int64_t(uniform(rng) * double(n)); }

// Fisher-Yates, in place.
DCRA_INLINE void shuffle(uint64_t* rng, int64_t* order, int64_t size) {
    for (int64_t i = size - 1; i > 0; --i) std::swap(order[i], order[below(rng, i + 1)]);
}

}  // namespace dcra
