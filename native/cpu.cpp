// Which of the libraries this processor can run: 2, 3 or 4 for x86-64-v2 to -v4, 1 for less, 0 elsewhere; and the
// stamp of the sources that this library was made of.
//
// This file is compiled without processor flags, so that it runs anywhere.

#include <cstdint>

#include "export.hpp"

#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace dcra::cpu {

#if defined(__x86_64__)
int64_t level() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return 2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return 3;
    return 4;
}
#elif defined(_M_X64)
int64_t level() {
    int one[4], seven[4];
    __cpuidex(one, 1, 0);
    __cpuidex(seven, 7, 0);
    const bool sse42 = one[2] >> 20 & 1, fma = one[2] >> 12 & 1, saved = one[2] >> 27 & 1;
    if (!sse42) return 1;
    const uint64_t kept = saved ? _xgetbv(0) : 0;
    const bool avx2 = seven[1] >> 5 & 1, bmi = (seven[1] >> 3 & 1) && (seven[1] >> 8 & 1);
    if (!fma || !avx2 || !bmi || (kept & 6) != 6) return 2;
    constexpr unsigned AVX512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    return (unsigned(seven[1]) & AVX512) == AVX512 && (kept & 0xE6) == 0xE6 ? 4 : 3;
}
#else
int64_t level() { return 0; }
#endif

#if !defined(DCRA_STAMP)
#define DCRA_STAMP ""
#endif
const char* stamp() { return DCRA_STAMP; }

}  // namespace dcra::cpu

DCRA_PLAIN(cpu, level)
DCRA_PLAIN(cpu, stamp)
