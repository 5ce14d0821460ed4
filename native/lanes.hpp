// Arithmetic on several numbers at once, written once for packs and for single numbers.
//
// A loop over rows is a generic function `term(lane, i)` that loads with `lane.load(p + i)`: it is called with
// `Wide` for whole packs and with `Single` for what remains. `sum` keeps four packs of partial sums, because one
// would wait for its own last addition. Where the compiler has no vector types, a pack is a single number.
#pragma once

#include <cstdint>
#include <cstring>

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

// Whether a number among values[0 .. size) is below `bound`: many at a time, for searches that rarely find one.
template <class T, int size> DCRA_INLINE bool any_below(const T* values, T bound) {
    bool found = false;
    for (int k = 0; k < size; ++k) found |= values[k] < bound;
    return found;
}

}  // namespace dcra
