// The best child of two points: where they differ, each connected part is taken from the better parent.

#include "quadratic.hpp"
#include "export.hpp"

namespace dcra::crossover {

// Call visit(j) for every j coupled to i that is in no part yet.
template <class T, class F>
DCRA_INLINE void each_loose(const Dense<T>& C, int64_t, const int64_t* part, const F& visit) {
    const auto loose = [=](auto lane, int64_t j) { return lane.load(part + j) < 0; };
    for (int64_t j = 0; (j = find<int64_t>(j, C.n, loose)) < C.n; ++j) visit(j);
}

template <class T, class F>
DCRA_INLINE void each_loose(const Sparse<T>& C, int64_t i, const int64_t* part, const F& visit) {
    for (int64_t p = C.ptr[i]; p < C.ptr[i + 1]; ++p)
        if (part[C.idx[p]] < 0) visit(C.idx[p]);
}

// The connected part of disagreement that holds `first`, listed in `stack`; its size.
template <class S>
DCRA_INLINE int64_t grow(const S& C, int64_t* part, int64_t* stack, int64_t first, int64_t name) {
    int64_t size = 1;
    stack[0] = first;
    part[first] = name;
    for (int64_t done = 0; done < size; ++done) {
        each_loose(C, stack[done], part, [&](int64_t j) {
            part[j] = name;
            stack[size++] = j;
        });
    }
    return size;
}

// Change of the value when all of a part flips: couplings inside it do not change.
template <class S, class T = typename S::Real>
DCRA_INLINE double rise_of(const S& C, const T* s, const T* g, const int64_t* part, const int64_t* stack,
                           int64_t size) {
    double total = 0;
    for (int64_t p = 0; p < size; ++p) {
        const int64_t i = stack[p];
        double inside = 0;
        for (int64_t q = 0; q < length(C, i); ++q) {
            const auto [j, coupling] = entry(C, i, q);
            inside += part[j] == part[i] ? double(s[j] * coupling) : 0.0;
        }
        total += double(s[i]) * (0.5 * inside - double(g[i]));
    }
    return total;
}

// Give s those parts of sign * other, connected by couplings, that lower its value; the spins that were changed.
template <class S, class T = typename S::Real>
int64_t cross(const S& given, T* s, T* g, double* score, const T* other, double given_sign, int64_t* part,
              int64_t* stack) {
    const S C = given;
    const T sign = T(given_sign);
    int64_t changed = 0, parts = 0;
    for (int64_t j = 0; j < C.n; ++j) part[j] = s[j] == sign * other[j] ? C.n : -1;  // n: in none
    for (int64_t j = 0; j < C.n; ++j) {
        if (part[j] >= 0) continue;
        const int64_t size = grow(C, part, stack, j, parts);
        if (rise_of(C, s, g, part, stack, size) < -1e-9 * magnitude(score[0])) {
            for (int64_t p = 0; p < size; ++p) turn(C, s, g, score, stack[p]);
            changed += size;
        }
        ++parts;
    }
    return changed;
}

}  // namespace dcra::crossover

DCRA_STORES(crossover, cross)
