// Arithmetic on several numbers at once, written once for packs and for single numbers.
//
// A loop over rows is a generic function `term(lane, i)` that loads with `lane.load(p + i)`: it is called with
// `Wide` for whole packs and with `Single` for what remains. `sum` keeps four packs of partial sums, because one
// would wait for its own last addition; `most`, `find` and `marks` search. Where the compiler has no vector types,
// a pack is a single number.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(_MSC_VER) && !defined(__clang__)
#define DCRA_INLINE __forceinline
#define DCRA_APART __declspec(noinline)
#define DCRA_RESTRICT __restrict
#define DCRA_UNROLL
#else
#define DCRA_INLINE inline __attribute__((always_inline))
#define DCRA_APART __attribute__((noinline))
#define DCRA_RESTRICT __restrict__
#if defined(__clang__)
#define DCRA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DCRA_UNROLL _Pragma("GCC unroll 8")
#endif
#define DCRA_PACKS 1
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#endif

namespace dcra {

#ifdef DCRA_PACKS
#if defined(__AVX512F__)
inline constexpr int BYTES = 64;
#elif defined(__AVX__)
inline constexpr int BYTES = 32;
#else
inline constexpr int BYTES = 16;
#endif
template <class T> struct PackOf {
    typedef T type __attribute__((vector_size(BYTES)));
};
template <class T> using Pack = typename PackOf<T>::type;
#else
template <class T> using Pack = T;
#endif

template <class V, class T> DCRA_INLINE V splat(T s) {
    if constexpr (sizeof(V) == sizeof(T)) return s;
    else return s - V{};
}

// As the processor does it: with a value that is not a number in v, the result is not a number.
template <class V, class T> DCRA_INLINE V at_least(V v, T bound) {
    const V b = splat<V>(bound);
    return v < b ? b : v;
}

template <class V, class T> DCRA_INLINE V at_most(V v, T bound) {
    const V b = splat<V>(bound);
    return v > b ? b : v;
}

template <class V> DCRA_INLINE V greater(V a, V b) { return a < b ? b : a; }

template <class V> DCRA_INLINE V magnitude(V v) { return greater(v, -v); }

template <class T, class V> struct Lane {
    static constexpr int width = sizeof(V) / sizeof(T);
    using Value = V;

    static DCRA_INLINE V load(const T* p) {
        V v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    static DCRA_INLINE void store(T* p, V v) { std::memcpy(p, &v, sizeof v); }
};

template <class T> using Wide = Lane<T, Pack<T>>;
template <class T> using Single = Lane<T, T>;

template <class T> DCRA_INLINE T add_up(Pack<T> v) {
    if constexpr (sizeof(v) == sizeof(T)) return v;
    else {
        T total = 0;
        for (int k = 0; k < Wide<T>::width; ++k) total += v[k];
        return total;
    }
}

// Sum of term(lane, i) over 0 <= i < n.
template <class T, class F> DCRA_INLINE T sum(int64_t n, const F& term) {
    constexpr int W = Wide<T>::width, AT_ONCE = 4;
    Pack<T> part[AT_ONCE] = {};
    int64_t i = 0;
    for (; i + AT_ONCE * W <= n; i += AT_ONCE * W) {
        DCRA_UNROLL
        for (int k = 0; k < AT_ONCE; ++k) part[k] += term(Wide<T>{}, i + k * W);
    }
    for (; i + W <= n; i += W) part[0] += term(Wide<T>{}, i);
    T total = add_up<T>((part[0] + part[1]) + (part[2] + part[3]));
    for (; i < n; ++i) total += term(Single<T>{}, i);
    return total;
}

// step(lane, i) for 0 <= i < n.
template <class T, class F> DCRA_INLINE void each(int64_t n, const F& step) {
    constexpr int W = Wide<T>::width, AT_ONCE = 4;
    int64_t i = 0;
    for (; i + AT_ONCE * W <= n; i += AT_ONCE * W) {
        DCRA_UNROLL
        for (int k = 0; k < AT_ONCE; ++k) step(Wide<T>{}, i + k * W);
    }
    for (; i + W <= n; i += W) step(Wide<T>{}, i);
    for (; i < n; ++i) step(Single<T>{}, i);
}

// Bit k is set where a comparison holds in lane k.
template <class M> DCRA_INLINE unsigned marks(M m) {
    if constexpr (std::is_integral_v<M>) return m != 0;
    else {
#if defined(__AVX512DQ__)
        if constexpr (sizeof(m[0]) == 4) return _mm512_movepi32_mask((__m512i)m);
        else return _mm512_movepi64_mask((__m512i)m);
#elif defined(__AVX__)
        if constexpr (sizeof(m[0]) == 4) return unsigned(_mm256_movemask_ps((__m256)m));
        else return unsigned(_mm256_movemask_pd((__m256d)m));
#elif defined(__SSE2__)
        if constexpr (sizeof(m[0]) == 4) return unsigned(_mm_movemask_ps((__m128)m));
        else return unsigned(_mm_movemask_pd((__m128d)m));
#else
        unsigned bits = 0;
        for (unsigned lane = 0; lane < sizeof(m) / sizeof(m[0]); ++lane) bits |= unsigned(m[lane] & 1) << lane;
        return bits;
#endif
    }
}

// The least i in first .. n at which test(lane, i) holds; n where there is none.
template <class T, class F> DCRA_INLINE int64_t find(int64_t first, int64_t n, const F& test) {
    constexpr int W = Wide<T>::width, AT_ONCE = 4;
    int64_t i = first;
    for (; i + AT_ONCE * W <= n; i += AT_ONCE * W) {
        auto any = test(Wide<T>{}, i);
        DCRA_UNROLL
        for (int k = 1; k < AT_ONCE; ++k) any |= test(Wide<T>{}, i + k * W);
        if (marks(any)) break;
    }
    for (; i + W <= n; i += W)
        if (const unsigned found = marks(test(Wide<T>{}, i))) return i + std::countr_zero(found);
    for (; i < n; ++i)
        if (test(Single<T>{}, i)) return i;
    return n;
}

// The largest of term(lane, i) over 0 <= i < n, and no less than `least`; what is not a number does not count.
template <class T, class F> DCRA_INLINE T most(int64_t n, T least, const F& term) {
    constexpr int W = Wide<T>::width, AT_ONCE = 4;
    Pack<T> part[AT_ONCE];
    for (auto& p : part) p = splat<Pack<T>>(least);
    int64_t i = 0;
    for (; i + AT_ONCE * W <= n; i += AT_ONCE * W) {
        DCRA_UNROLL
        for (int k = 0; k < AT_ONCE; ++k) part[k] = greater(part[k], term(Wide<T>{}, i + k * W));
    }
    for (; i + W <= n; i += W) part[0] = greater(part[0], term(Wide<T>{}, i));
    const Pack<T> top = greater(greater(part[0], part[1]), greater(part[2], part[3]));
    if constexpr (W == 1) least = top;
    else
        for (int k = 0; k < W; ++k) least = greater(least, T(top[k]));
    for (; i < n; ++i) least = greater(least, term(Single<T>{}, i));
    return least;
}

}  // namespace dcra
