// One row's loss: value f(z) and smoothed gradient g(z), as functions of the table's numbers.
//
// The table family is k g^2/2 + e|g| on [lo, hi] in the conjugate, with lo <= 0 <= hi wherever e > 0, so
// f(z) = h(s), s = soft(z, e), and h(s) = max(lo s, hi s) when k = 0. V is a number or a pack of them.
#pragma once

#include <cmath>

#include "lanes.hpp"

namespace dcra {

template <class V, class T> DCRA_INLINE V clip(V v, T lo, T hi) { return at_most(at_least(v, lo), hi); }

template <class V, class T> DCRA_INLINE V soft(V z, T e) { return z - clip(z, -e, e); }

template <class V, class T> DCRA_INLINE V table_grad(V z, T slope, T e, T lo, T hi) {
    return clip(soft(z, e) * slope, lo, hi);
}

template <class V, class T> DCRA_INLINE V steep_value(V z, T lo, T hi) { return greater(lo * z, hi * z); }

template <class V, class T> DCRA_INLINE V sharp_value(V z, T e, T lo, T hi) {
    return steep_value(soft(z, e), lo, hi);
}

template <class V, class T> DCRA_INLINE V curved_value(V z, T half_k, T slope, T e, T lo, T hi) {
    const V s = soft(z, e);
    const V g = clip(s * slope, lo, hi);
    return g * (s - half_k * g);
}

template <class T> DCRA_INLINE T logistic_grad(T z, T a, T s) { return s * a / (T(1) + std::exp(-a * z)); }

template <class T> DCRA_INLINE T logistic_value(T z, T a, T s) {
    const T v = a * z;
    return s * (greater(v, T(0)) + std::log1p(std::exp(-magnitude(v))));
}

// Where the envelope of hi min(|z|, reach) becomes flat.
template <class T> DCRA_INLINE T capped_edge(T slope, T reach, T hi) {
    const T edge = reach + hi / (slope + slope);
    return hi <= slope * edge ? edge : std::sqrt((reach + reach) * hi / slope);
}

template <class V, class T> DCRA_INLINE V capped_grad(V z, T slope, T edge, T lo, T hi) {
    return magnitude(z) < splat<V>(edge) ? clip(z * slope, lo, hi) : V{};
}

template <class V, class T> DCRA_INLINE V capped_value(V z, T reach, T hi) {
    return hi * at_most(magnitude(z), reach);
}

}  // namespace dcra
