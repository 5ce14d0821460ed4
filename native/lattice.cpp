// Squared loss over levels -(q-1), ..., -1, 1, ..., q-1 in Gram form: u'Gu - 2 h'u, with fields g = Gu - h.
//
// Moving u_i by d changes the value by 2 d g_i + d^2 G_ii, and the fields by d times a row of G: what would be a pass
// over a column of A in the template is one number here.

#include <cmath>
#include <limits>

#include "decay.hpp"
#include "export.hpp"
#include "rng.hpp"
#include "rows.hpp"

namespace dcra::lattice {

constexpr double FROZEN = 40.0;
constexpr int64_t LONGEST = 1000;  // passes of a descent that rounding keeps from ending

template <class T> struct SearchScratch {
    T *u, *g, *best;
    uint64_t* rng;
    int64_t n;
};

// Points and what is known of their posterior: U (k, n), P (k, n, q), E (k, 2).
template <class T> struct Samples {
    const T* U;
    double *P, *E;
    int64_t k, n, q;
};

template <class T> struct SampleScratch {
    T *u, *g;
    double* values;
    int64_t* order;
    double *weights, *half;
    uint64_t* rng;
    int64_t copies, n, q;
};

struct SphereScratch {
    double *part, *level, *step, *rest;
    int64_t* stale;
    int64_t n;
};

template <class T> DCRA_INLINE void copy(const T* from, T* to, int64_t n) {
    each<T>(n, [=](auto lane, int64_t i) { lane.store(to + i, lane.load(from + i)); });
}

// g += d G_j.
template <class T> DCRA_INLINE void add(const T* G, int64_t n, int64_t j, T d, T* g) {
    const T* row = G + j * n;
    each<T>(n, [=](auto lane, int64_t i) { lane.store(g + i, lane.load(g + i) + d * lane.load(row + i)); });
}

// g = Gu - h, and the value u'Gu - 2 h'u.
template <class T> DCRA_APART double fields(const T* G, int64_t n, const T* h, const T* u, T* g) {
    for (int64_t i = 0; i < n; ++i) g[i] = -h[i];
    for (int64_t j = 0; j < n; ++j) add(G, n, j, u[j], g);
    double value = 0;
    for (int64_t i = 0; i < n; ++i) value += double(u[i]) * (double(g[i]) - double(h[i]));
    return value;
}

// What u_i += d changes the value by, in the precision of the fields.
template <class T> DCRA_INLINE double rise_of(T d, T field, T curvature) {
    return double(d * (field + field + d * curvature));
}

// Whether t >= exp(-v), for v >= 0. Where t (1 + v + v^2/2) >= 1 that is plain, and known sooner.
DCRA_INLINE bool refused(double t, double v) { return t * (1.0 + v * (1.0 + 0.5 * v)) >= 1.0 || t >= std::exp(-v); }

// One proposal per coordinate: a step to a neighbouring level.
template <class T>
DCRA_INLINE void pass(const T* G, int64_t q, double temperature, const SearchScratch<T>& own, double& value,
                      double& lowest) {
    const int64_t n = own.n;
    T *u = own.u, *g = own.g;
    const T top = T(q - 1), bottom = T(1 - q);
    const double colder = 1.0 / temperature;
    uint64_t rng[4] = {own.rng[0], own.rng[1], own.rng[2], own.rng[3]};
    bool falling = false;
    const auto keep = [&] {
        if (falling && value < lowest) {
            lowest = value;
            copy(u, own.best, n);
        }
    };
    for (int64_t i = 0; i < n; ++i) {
        const bool inner = u[i] > bottom && u[i] != top;
        const T d = (inner ? uniform(rng) < 0.5 : u[i] == top) ? T(-2) : T(2);
        const double rise = rise_of(d, g[i], G[i * n + i]);
        if (rise > 0) {
            if (rise > 30.0 * temperature || refused(uniform(rng), rise * colder)) continue;
            keep();
            falling = false;
        } else {
            falling = true;
        }
        u[i] += d;
        value += rise;
        add(G, n, i, d, g);
    }
    keep();
    for (int i = 0; i < 4; ++i) own.rng[i] = rng[i];
}

// The level nearest to t.
template <class T> DCRA_INLINE double best_level(int64_t q, T t) {
    const double top = double(q - 1);
    return clip(2.0 * std::floor(0.5 * (double(t) + top) + 0.5) - top, -top, top);
}

// Move single coordinates to their best levels until none improves.
template <class T>
DCRA_INLINE double descend(const T* G, int64_t q, const SearchScratch<T>& own, double value) {
    const int64_t n = own.n;
    T *u = own.u, *g = own.g;
    int64_t quiet = 0, i = 0;
    for (int64_t left = LONGEST * n; left > 0 && quiet < n; --left) {
        const T curvature = G[i * n + i];
        const double d = best_level(q, curvature > 0 ? u[i] - g[i] / curvature : u[i]) - double(u[i]);
        const double gain = -d * (double(g[i] + g[i]) + d * double(curvature));
        ++quiet;
        if (gain > 1e-6 * double(curvature)) {
            u[i] = T(double(u[i]) + d);
            value -= gain;
            add(G, n, i, T(d), g);
            quiet = 0;
        }
        i = i + 1 < n ? i + 1 : 0;
    }
    return value;
}

// Anneal jobs lo .. hi; job k is start k % starts of the frame k / starts, whose h is a row of targets.
template <class T>
int64_t search_levels(const T* G, const T* targets, int64_t lo, int64_t hi, int64_t q, int64_t starts, uint64_t seed,
                      const double* temperatures, T* U, double* F, const SearchScratch<T>& given, int64_t n, int64_t,
                      int64_t passes, int64_t) {
    const SearchScratch<T> own = given;  // a copy: nothing that the loop writes can change it
    int64_t moves = 0;
    for (int64_t k = lo; k < hi; ++k) {
        const T* h = targets + k / starts * n;
        reseed(own.rng, seed, uint64_t(k));
        for (int64_t i = 0; i < n; ++i)
            own.u[i] = k % starts == 0 ? U[k * n + i] : T(2 * below(own.rng, q) - (q - 1));
        double value = fields(G, n, h, own.u, own.g), lowest = value;
        copy(own.u, own.best, n);
        for (int64_t p = 0; p < passes; ++p) {
            pass(G, q, temperatures[p], own, value, lowest);
            moves += n;
        }
        if (value < lowest) copy(own.u, own.best, n);
        copy(own.best, own.u, n);
        F[k] = descend(G, q, own, fields(G, n, h, own.u, own.g));
        copy(own.u, U + k * n, n);
    }
    return moves;
}

// Weights of the levels of one coordinate, none below exp(-FROZEN), the largest 1; returns their sum.
template <class T>
DCRA_INLINE double conditional(int64_t q, T now, T field, T curvature, double colder, double* weights) {
    double lowest = std::numeric_limits<double>::infinity(), total = 0;
    const double first = double(1 - q) - double(now), twice = 2.0 * double(field);
    for (int64_t l = 0; l < q; ++l) {
        const double d = first + 2.0 * double(int32_t(l));
        weights[l] = d * (twice + d * double(curvature));
        lowest = at_most(weights[l], lowest);
    }
    for (int64_t l = 0; l < q; ++l) weights[l] = decay(at_most((weights[l] - lowest) * colder, FROZEN));
    for (int64_t l = 0; l < q; ++l) total += weights[l];
    return total;
}

// Draw every coordinate anew; the change of the value. Where there is P, it gets the probabilities.
//
// Q is q where that is known: short loops then need no counting.
template <int64_t Q, class T>
double heat_bath(const T* G, int64_t n, int64_t given_q, T* u, T* g, double temperature, double* P, double* given_weights,
                 uint64_t* given_rng) {
    const int64_t q = Q ? Q : given_q;
    double own_weights[Q ? Q : 1], *weights = Q ? own_weights : given_weights;
    uint64_t rng[4] = {given_rng[0], given_rng[1], given_rng[2], given_rng[3]};
    const double colder = 1.0 / temperature;
    double change = 0;
    for (int64_t i = 0; i < n; ++i) {
        const T curvature = G[i * n + i];
        const double total = conditional(q, u[i], g[i], curvature, colder, weights);
        if (P)
            for (int64_t l = 0; l < q; ++l) P[i * q + l] += weights[l] / total;
        const double t = uniform(rng) * total;
        double below_it = 0;
        int64_t level = 0;
        for (int64_t l = 0; l < q - 1; ++l) {
            below_it += weights[l];
            level += t >= below_it;
        }
        const T d = T(2 * level - (q - 1)) - u[i];
        if (d != 0) {
            change += rise_of(d, g[i], curvature);
            u[i] += d;
            add(G, n, i, d, g);
        }
    }
    for (int i = 0; i < 4; ++i) given_rng[i] = rng[i];
    return change;
}

// A pass over every copy, then exchanges; where there is P, it gets the coldest copy's probabilities.
template <class T>
DCRA_INLINE void exchange(const T* G, const double* temperatures, double* P, const SampleScratch<T>& own) {
    const auto draw_all = own.q == 2 ? heat_bath<2, T> : own.q == 4 ? heat_bath<4, T> : heat_bath<0, T>;
    for (int64_t t = 0; t < own.copies; ++t) {
        const int64_t c = own.order[t];
        own.values[c] += draw_all(G, own.n, own.q, own.u + c * own.n, own.g + c * own.n, temperatures[t],
                                   t == 0 ? P : nullptr, own.weights, own.rng);
    }
    for (int64_t t = own.copies - 1; t > 0; --t) {
        const int64_t down = own.order[t - 1], up = own.order[t];
        const double gain = (1.0 / temperatures[t - 1] - 1.0 / temperatures[t]) * (own.values[down] - own.values[up]);
        if (gain >= 0 || uniform(own.rng) < std::exp(gain)) own.order[t - 1] = up, own.order[t] = down;
    }
}

// Replace the means by sums / count; how far they move on average.
DCRA_INLINE double moved(const double* sums, double* means, int64_t size, int64_t count) {
    double total = 0;
    for (int64_t i = 0; i < size; ++i) {
        const double now = sums[i] / double(count);
        total += magnitude(now - means[i]);
        means[i] = now;
    }
    return total / double(size);
}

// Sample exp(-value / temperature) for the frames lo .. hi by heat bath, from U.
template <class T>
void sample_levels(const T* G, const T* targets, int64_t lo, int64_t hi, uint64_t seed, const double* temperatures,
                   int64_t least, int64_t most, double tolerance, const Samples<T>& samples,
                   const SampleScratch<T>& given, int64_t n, int64_t, int64_t copies) {
    const SampleScratch<T> own = given;
    const int64_t size = n * own.q;
    if (copies == 0) return;
    for (int64_t k = lo; k < hi; ++k) {
        double *P = samples.P + k * size, *E = samples.E + 2 * k;
        reseed(own.rng, seed, uint64_t(k));
        for (int64_t c = 0; c < copies; ++c) {
            own.order[c] = c;
            copy(samples.U + k * n, own.u + c * n, n);
            own.values[c] = fields(G, n, targets + k * n, own.u + c * n, own.g + c * n);
        }
        for (int64_t i = 0; i < size; ++i) P[i] = 0;
        E[0] = E[1] = 0;
        int64_t done = -(least / 4), passes = least / 2;
        while (done < passes) {
            for (int64_t s = done; s < passes; ++s) {
                exchange(G, temperatures, s >= 0 ? P : nullptr, own);
                if (s < 0) continue;
                const double value = own.values[own.order[0]];
                E[0] += value;
                E[1] += value * value;
            }
            done = passes;
            const double far = moved(P, own.half, size, done);
            if (done < least || (2 * done <= most && far > tolerance)) passes = 2 * done;
        }
        for (int64_t i = 0; i < size; ++i) P[i] = own.half[i];
        E[0] /= double(done);
        E[1] /= double(done);
    }
}

// The real optimum of coordinate k given those above it, and the nearest level to begin with.
DCRA_INLINE void enter(const double* R, int64_t q, double* u, const SphereScratch& own, int64_t k) {
    const int64_t n = own.n;
    double* rest = own.rest + k * (n + 1);
    const double* row = R + k * n;
    double left = rest[own.stale[k] + 1];
    for (int64_t j = own.stale[k]; j > k; --j) {
        left -= row[j] * u[j];
        rest[j] = left;
    }
    if (k > 0 && own.stale[k - 1] < own.stale[k]) own.stale[k - 1] = own.stale[k];
    own.stale[k] = k + 1;
    own.level[k] = rest[k + 1] / row[k];
    u[k] = best_level(q, own.level[k]);
    own.step[k] = own.level[k] > u[k] ? 2.0 : -2.0;
}

// Go on to the next level of coordinate k, or of the first one above it that has any left.
DCRA_INLINE int64_t climb(int64_t q, double* u, double* step, int64_t k, int64_t n) {
    for (; k < n; ++k)
        for (int side = 0; side < 2; ++side) {  // on either side in turn; beyond both ends there is none
            u[k] += step[k];
            step[k] = -step[k] - (step[k] > 0 ? 2.0 : -2.0);
            if (magnitude(u[k]) < double(q)) return k;
        }
    return k;
}

// Depth-first search for the levels with least |z - R u|^2, R upper triangular, nearest levels first.
//
// `best` and *radius are the point and squared distance to beat, and at the end the best found. rest[k, j] is what
// unknowns j, ..., n-1 leave of z_k, and stale[k] the last of them that has moved since (Ghasemmehdi and Agrell).
int64_t sphere(const double* R, const double* z, int64_t q, double* u, double* best, double* radius, int64_t most,
               const SphereScratch& given, int64_t n) {
    const SphereScratch own = given;
    if (n == 0) return 0;
    for (int64_t k = 0; k < n; ++k) {
        own.rest[k * (n + 1) + n] = z[k];
        own.stale[k] = n - 1;
    }
    int64_t nodes = 0, k = n - 1;
    double nearest = *radius;
    own.part[n] = 0;
    enter(R, q, u, own, k);
    while (++nodes <= most) {
        const double e = R[k * n + k] * (own.level[k] - u[k]);
        own.part[k] = own.part[k + 1] + e * e;
        if (own.part[k] < nearest) {
            if (k > 0) {
                enter(R, q, u, own, --k);
                continue;
            }
            nearest = own.part[0];
            copy(u, best, n);
        }
        k = climb(q, u, own.step, k + 1, n);  // levels come nearest first: what is left is farther
        if (k == n) break;
        if (own.stale[k - 1] < k) own.stale[k - 1] = k;
    }
    *radius = nearest;
    return nodes;
}

}  // namespace dcra::lattice

DCRA_REALS(lattice, search_levels)
DCRA_REALS(lattice, sample_levels)
DCRA_PLAIN(lattice, sphere)
