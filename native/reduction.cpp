// Reduction of lattices, and search of their points in a tree: what solves equations between integers.
//
// A basis has its vectors in rows of B, whole numbers that float64 holds without rounding, with b_i = b*_i + sum over
// j < i of mu_ij b*_j for orthogonal b*_j of squared lengths r_j. Coefficients and lengths are rounded; B never is.

#include <cmath>

#include "export.hpp"
#include "lanes.hpp"
#include "places.hpp"

namespace dcra::reduction {

constexpr double HALF = 0.501;  // what coefficients are reduced to: rounding must not move a vector to and fro
constexpr int ROUNDS = 100;     // reductions of one vector, each with coefficients that are less wrong

struct Basis {
    double *B, *mu, *r, *products;
    int64_t d, w;
};

struct Tree {
    double *x, *step, *centre, *part, *rest;
    int64_t* stale;
    int64_t d;
};

DCRA_INLINE double dot(const double* a, const double* b, int64_t n) {
    return sum<double>(n, [=](auto lane, int64_t i) { return lane.load(a + i) * lane.load(b + i); });
}

// a -= q b.
DCRA_INLINE void subtract(double* a, double q, const double* b, int64_t n) {
    each<double>(n, [=](auto lane, int64_t i) { lane.store(a + i, lane.load(a + i) - q * lane.load(b + i)); });
}

// Row k of mu and r_k from the rows before, and the length of b_k, squared.
DCRA_INLINE double orthogonalise(const Basis& basis, int64_t k) {
    const int64_t d = basis.d, w = basis.w;
    const double* b = basis.B + k * w;
    double *row = basis.mu + k * d, *products = basis.products;
    const double length = dot(b, b, w);
    double left = length;
    for (int64_t j = 0; j < k; ++j) {
        const double* above = basis.mu + j * d;
        products[j] = dot(b, basis.B + j * w, w) - dot(above, products, j);
        row[j] = basis.r[j] > 0 ? products[j] / basis.r[j] : 0.0;
        left -= row[j] * products[j];
    }
    basis.r[k] = left;
    return length;
}

// Subtract whole multiples of the vectors before b_k until all its coefficients are at most about 1/2; the work.
DCRA_INLINE int64_t shorten(const Basis& basis, int64_t k) {
    const int64_t d = basis.d, w = basis.w;
    int64_t work = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        orthogonalise(basis, k);
        work += k * (w + k / 2);
        bool changed = false;
        double* row = basis.mu + k * d;
        for (int64_t j = k - 1; j >= 0; --j) {
            if (!(magnitude(row[j]) > HALF)) continue;
            const double q = std::floor(row[j] + 0.5);
            subtract(basis.B + k * w, q, basis.B + j * w, w);
            subtract(row, q, basis.mu + j * d, j);
            row[j] -= q;
            work += w + j;
            changed = true;
        }
        if (!changed) break;
    }
    return work;
}

DCRA_INLINE void exchange(double* a, double* b, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::swap(a[i], b[i]);
}

// Lenstra, Lenstra and Lovasz, on the vectors up to `last`; *cursor is the first that is not known to be reduced.
int64_t reduce(const Basis& given, int64_t* cursor, int64_t last, double delta, int64_t most) {
    const Basis basis = given;
    if (!within(last, basis.d + 1) || !within(*cursor, last + 1)) return OUTSIDE;
    int64_t k = *cursor, work = 0;
    while (k < last && work < most) {
        work += shorten(basis, k) + basis.w;
        const double c = k ? basis.mu[k * basis.d + k - 1] : 0.0;
        if (k == 0 || basis.r[k] >= (delta - c * c) * basis.r[k - 1]) {
            ++k;
            continue;
        }
        exchange(basis.B + k * basis.w, basis.B + (k - 1) * basis.w, basis.w);
        k = k > 1 ? k - 1 : 0;
    }
    *cursor = k;
    return work;
}

// The best real number for coordinate k given those above it, and the nearest whole one to begin with.
DCRA_INLINE void enter(const double* U, const double* t, const Tree& own, int64_t k, int64_t hi) {
    const int64_t d = own.d;
    double* rest = own.rest + k * (d + 1);
    const double* row = U + k * d;
    int64_t j = own.stale[k];
    double left = j + 1 < hi ? rest[j + 1] : t[k];
    for (; j > k; --j) {
        left -= row[j] * own.x[j];
        rest[j] = left;
    }
    if (k > 0 && own.stale[k - 1] < own.stale[k]) own.stale[k - 1] = own.stale[k];
    own.stale[k] = k;
    own.centre[k] = left;
    own.x[k] = std::floor(left + 0.5);
    own.step[k] = left > own.x[k] ? 1.0 : -1.0;
}

// Depth-first search for whole x with sum over i >= k of r_i (x_i - c_i)^2 <= bounds_k for every k in lo .. hi.
//
// c_i = t_i - sum over j > i of U_ij x_j. Returns the nodes visited. cursor is [level, whether the tree was entered,
// whether x is such a point]: at a point the search pauses, at the end the level is hi. Where all of t is 0, x = 0 and
// one of x and -x are passed over.
int64_t explore(const double* U, const double* r, const double* t, const double* bounds, int64_t lo, int64_t hi,
                int64_t symmetric, int64_t most, int64_t* cursor, const Tree& given, int64_t d) {
    const Tree own = given;
    if (!(0 <= lo && lo < hi && hi <= d) || !(lo <= cursor[0] && cursor[0] <= hi)) return OUTSIDE;
    double *x = own.x, *step = own.step, *part = own.part;
    const double* centre = own.centre;
    int64_t nodes = 0, k = cursor[0];
    if (!cursor[1]) {
        for (int64_t i = lo; i < hi; ++i) own.stale[i] = hi - 1;
        part[hi] = 0;
        k = hi - 1;
        enter(U, t, own, k, hi);
        cursor[1] = 1;
    }
    cursor[2] = 0;
    bool next = cursor[3] != 0;  // whether x_k has had its turn
    while (k < hi) {
        if (next) {
            if (symmetric && part[k + 1] == 0) x[k] += 1.0;  // of x and -x, one
            else {
                x[k] += step[k];
                step[k] = -step[k] - (step[k] > 0 ? 1.0 : -1.0);
            }
            if (k > lo && own.stale[k - 1] < k) own.stale[k - 1] = k;
            next = false;
        }
        if (nodes >= most) break;
        ++nodes;
        const double e = x[k] - centre[k];
        part[k] = part[k + 1] + e * e * r[k];
        if (!(part[k] <= bounds[k])) {
            ++k;
            next = true;
            continue;
        }
        if (k > lo) {
            enter(U, t, own, --k, hi);
            continue;
        }
        next = true;
        if (!symmetric || part[k] > 0) {
            cursor[2] = 1;
            break;
        }
    }
    cursor[0] = k;
    cursor[3] = next;
    return nodes;
}

}  // namespace dcra::reduction

DCRA_PLAIN(reduction, reduce)
DCRA_PLAIN(reduction, explore)
