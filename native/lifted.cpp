// Algorithms 1 and 2 of the paper for one start.
//
// The factor is kept by columns: V (p, m) holds v0, w_1, ..., w_n as rows. `engines.dcra` has the plain form.

#include <cmath>

#include "export.hpp"
#include "state.hpp"

namespace dcra::lifted {

// Places in the progress of a start, and in the options.
enum { RHO, CURVATURE, SMOOTHED, ANCHOR, INNER, OUTER, DONE };
enum { GROWTH, RHO_MAX, STEP_TOL, GAP_TOL, OBJECTIVE_TOL, MAX_INNER, MAX_OUTER, BACKTRACK, SHRINK, GROW, GRID };

// Work space of one start.
template <class T> struct LiftedScratch {
    T *U, *x_new, *z_new, *g, *gram, *vectors;
    int64_t n, m, r;
};

// y = w g(z), the gradient of the smoothed losses in z.
template <class T> DCRA_APART void gradient_at(const Rows<T>& rows, const T* z, T* y) {
    for (int64_t t = 0; t < rows.terms; ++t) {
        const Term<T> p(rows, t);
        const T slope = p.slope, k = p.k, e = p.e, lo = p.lo, hi = p.hi;
        for (int64_t i = rows.start[t], end = rows.start[t + 1]; i < end; ++i) {
            if (p.kind == LOGISTIC) y[i] = logistic_grad(z[i], k, e);
            else if (p.kind == CAPPED) y[i] = capped_grad(z[i], slope, capped_edge(slope, k, hi), lo, hi);
            else y[i] = table_grad(z[i], slope, e, lo, hi);
        }
    }
    if (rows.weight)
        for (int64_t i = 0; i < rows.r; ++i) y[i] *= rows.weight[i];
}

template <class T> DCRA_INLINE T dot(const T* a, const T* b, int64_t size) {
    return sum<T>(size, [=](auto lane, int64_t i) { return lane.load(a + i) * lane.load(b + i); });
}

// g = A'y + c; four columns at a time read y once.
template <class T> DCRA_INLINE void adjoint(const Dense<T>& A, const T* y, const T* c, T* g) {
    constexpr int W = Wide<T>::width;
    const int64_t r = A.r;
    int64_t j = 0;
    for (; j + 4 <= A.n; j += 4) {
        const T *a0 = A.cols + j * r, *a1 = a0 + r, *a2 = a1 + r, *a3 = a2 + r;
        Pack<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
        int64_t i = 0;
        for (; i + W <= r; i += W) {
            const Pack<T> v = Wide<T>::load(y + i);
            s0 += Wide<T>::load(a0 + i) * v;
            s1 += Wide<T>::load(a1 + i) * v;
            s2 += Wide<T>::load(a2 + i) * v;
            s3 += Wide<T>::load(a3 + i) * v;
        }
        T t0 = add_up<T>(s0), t1 = add_up<T>(s1), t2 = add_up<T>(s2), t3 = add_up<T>(s3);
        for (; i < r; ++i) t0 += a0[i] * y[i], t1 += a1[i] * y[i], t2 += a2[i] * y[i], t3 += a3[i] * y[i];
        g[j] = t0 + c[j], g[j + 1] = t1 + c[j + 1], g[j + 2] = t2 + c[j + 2], g[j + 3] = t3 + c[j + 3];
    }
    for (; j < A.n; ++j) g[j] = dot(A.cols + j * r, y, r) + c[j];
}

template <class T> DCRA_INLINE void adjoint(const Sparse<T>& A, const T* y, const T* c, T* g) {
    for (int64_t j = 0; j < A.n; ++j) {
        T total = 0;
        for (int64_t p = A.ptr[j]; p < A.ptr[j + 1]; ++p) total += A.val[p] * y[A.idx[p]];
        g[j] = total + c[j];
    }
}

// z += A x; four columns at a time change z once.
template <class T> DCRA_INLINE void add_product(const Dense<T>& A, const T* x, T* z) {
    const int64_t r = A.r;
    int64_t j = 0;
    for (; j + 4 <= A.n; j += 4) {
        const T *a0 = A.cols + j * r, *a1 = a0 + r, *a2 = a1 + r, *a3 = a2 + r;
        const T x0 = x[j], x1 = x[j + 1], x2 = x[j + 2], x3 = x[j + 3];
        each<T>(r, [=](auto lane, int64_t i) {
            const auto one = lane.load(z + i) + x0 * lane.load(a0 + i) + x1 * lane.load(a1 + i);
            lane.store(z + i, one + (x2 * lane.load(a2 + i) + x3 * lane.load(a3 + i)));
        });
    }
    for (; j < A.n; ++j) shift(A, j, x[j], z);
}

template <class T> DCRA_INLINE void add_product(const Sparse<T>& A, const T* x, T* z) {
    for (int64_t j = 0; j < A.n; ++j) shift(A, j, x[j], z);
}

// The smoothed losses at residuals z: the table family's conjugate gains delta g^2/2.
template <class T> DCRA_APART double envelope_at(const Rows<T>& rows, const T* z) {
    double total = 0;
    for (int64_t t = 0; t < rows.terms; ++t) {
        const Term<T> p(rows, t);
        const T slope = p.slope, half = T(0.5) / p.slope, k = p.k, e = p.e, lo = p.lo, hi = p.hi, *at = z + rows.start[t];
        total += p.kind == LOGISTIC
            ? weighted_singles<T>(p.size, p.weight, [=](int64_t i) { return logistic_value(at[i], k, e); })
            : weighted_sum<T>(p.size, p.weight, [=](auto lane, int64_t i) {
                  const auto s = soft(lane.load(at + i), e);
                  const auto v = clip(s * slope, lo, hi);
                  return v * (s - half * v);
              });
    }
    return total;
}

template <class T> DCRA_INLINE T small_dot(const T* a, const T* b, int64_t m) {
    T total = 0;
    for (int64_t i = 0; i < m; ++i) total += a[i] * b[i];
    return total;
}

// Scale u to unit length; a zero u becomes `old`.
template <class T> DCRA_INLINE void normalize(T* u, const T* old, int64_t m) {
    const T size = std::sqrt(small_dot(u, u, m));
    if (size > 0) {
        const T scale = T(1) / size;
        for (int64_t i = 0; i < m; ++i) u[i] *= scale;
    } else {
        for (int64_t i = 0; i < m; ++i) u[i] = old[i];
    }
}

// U = normalised columns of L V - gradient + 2 rho u u'V, snapped to `grid`; returns |U - V|_F^2.
template <class T>
DCRA_INLINE double move(const T* V, T* U, const T* g, const T* vectors, int64_t top, double rho, double L, double grid,
                        int64_t p, int64_t m) {
    for (int64_t i = 0; i < m; ++i) U[i] = 0;
    for (int64_t j = 1; j < p; ++j)
        for (int64_t i = 0; i < m; ++i) {
            U[i] -= g[j - 1] * V[j * m + i];
            U[j * m + i] = -g[j - 1] * V[i];
        }
    double moved = 0;
    for (int64_t j = 0; j < p; ++j) {
        T* u = U + j * m;
        const T* v = V + j * m;
        T along = 0;
        for (int64_t i = 0; i < m; ++i) along += vectors[i * m + top] * v[i];
        for (int64_t i = 0; i < m; ++i) u[i] += T(L) * v[i] + T(2.0 * rho) * along * vectors[i * m + top];
        normalize(u, v, m);
        for (int64_t i = 0; i < m; ++i) u[i] = std::floor(u[i] * T(grid) + T(0.5));
        normalize(u, v, m);
        for (int64_t i = 0; i < m; ++i) moved += double((u[i] - v[i]) * (u[i] - v[i]));
    }
    return moved;
}

template <class T> DCRA_INLINE void gram_of(const T* V, T* gram, int64_t p, int64_t m) {
    for (int64_t i = 0; i < m * m; ++i) gram[i] = 0;
    for (int64_t j = 0; j < p; ++j)
        for (int64_t a = 0; a < m; ++a)
            for (int64_t c = 0; c <= a; ++c) gram[a * m + c] += V[j * m + a] * V[j * m + c];
    for (int64_t a = 0; a < m; ++a)
        for (int64_t c = 0; c < a; ++c) gram[c * m + a] = gram[a * m + c];
}

template <class T> DCRA_INLINE void rotate(T* S, T* vectors, int64_t a, int64_t c, int64_t m) {
    if (S[a * m + c] == 0) return;
    const T theta = (S[c * m + c] - S[a * m + a]) / (T(2) * S[a * m + c]);
    const T size = T(1) / (magnitude(theta) + std::sqrt(theta * theta + T(1)));
    const T t = theta >= 0 ? size : -size;
    const T cosine = T(1) / std::sqrt(t * t + T(1)), sine = t * cosine;
    const auto turn = [=](T& left, T& right) {
        const T l = left, r = right;
        left = cosine * l - sine * r;
        right = sine * l + cosine * r;
    };
    for (int64_t k = 0; k < m; ++k) turn(S[k * m + a], S[k * m + c]);
    for (int64_t k = 0; k < m; ++k) {
        turn(S[a * m + k], S[c * m + k]);
        turn(vectors[k * m + a], vectors[k * m + c]);
    }
}

// Diagonalise the symmetric S in place; eigenvectors are the columns of `vectors`.
template <class T> DCRA_INLINE void jacobi(T* S, T* vectors, int64_t m) {
    for (int64_t a = 0; a < m; ++a)
        for (int64_t c = 0; c < m; ++c) vectors[a * m + c] = a == c ? T(1) : T(0);
    for (int turns = 0; turns < 30; ++turns) {
        double off = 0, total = 0;
        for (int64_t a = 0; a < m; ++a) {
            total += double(S[a * m + a]) * double(S[a * m + a]);
            for (int64_t c = 0; c < a; ++c) off += double(S[a * m + c]) * double(S[a * m + c]);
        }
        if (off <= 1e-32 * total) break;
        for (int64_t a = 0; a < m - 1; ++a)
            for (int64_t c = a + 1; c < m; ++c) rotate(S, vectors, a, c, m);
    }
}

template <class T> DCRA_INLINE int64_t largest(const T* S, int64_t m) {
    int64_t best = 0;
    for (int64_t k = 1; k < m; ++k)
        if (S[k * m + k] > S[best * m + best]) best = k;
    return best;
}

// The top eigenvector of V'V, as a column of `vectors`; its eigenvalue is on the diagonal of `gram`.
template <class T> DCRA_APART int64_t top_of(const T* V, T* gram, T* vectors, int64_t p, int64_t m) {
    gram_of(V, gram, p, m);
    jacobi(gram, vectors, m);
    return largest(gram, m);
}

// The descent inequality of the smoothed loss in x.
template <class T>
DCRA_INLINE bool promised(double smoothed, const T* g, const T* x, const T* x_new, int64_t n, const double* progress) {
    double promise = progress[SMOOTHED];
    for (int64_t j = 0; j < n; ++j) {
        const double d = double(x_new[j]) - double(x[j]);
        promise += double(g[j]) * d + 0.5 * progress[CURVATURE] * d * d;
    }
    return smoothed <= promise + 1e-12 * magnitude(progress[SMOOTHED]);
}

// Stop at a small rank gap, else enlarge rho.
template <class T>
DCRA_INLINE void raise_penalty(const T* V, T* gram, T* vectors, int64_t p, int64_t m, double* progress,
                               const double* options) {
    progress[OUTER] += 1;
    progress[INNER] = 0;
    const int64_t k = top_of(V, gram, vectors, p, m);
    bool ended = double(p) - double(gram[k * m + k]) <= options[GAP_TOL] * double(p) ||
                 progress[OUTER] >= options[MAX_OUTER];
    const double change = magnitude(progress[SMOOTHED] - progress[ANCHOR]);
    if (options[OBJECTIVE_TOL] >= 0 && change <= options[OBJECTIVE_TOL] * magnitude(progress[ANCHOR])) ended = true;
    progress[ANCHOR] = progress[SMOOTHED];
    progress[RHO] = at_most(options[GROWTH] * progress[RHO], options[RHO_MAX]);
    progress[DONE] = ended;
}

template <class T> DCRA_INLINE void copy(const T* from, T* to, int64_t size) {
    for (int64_t i = 0; i < size; ++i) to[i] = from[i];
}

// At most `steps` steps of Algorithm 2, with Algorithm 1's turn whenever the inner loop has ended.
template <class S, class T = typename S::Real>
int64_t advance(const Model<S>& model, const T* b, T* V, T* x, T* z, double* progress, const double* options,
                int64_t steps, const LiftedScratch<T>& own) {
    const int64_t n = model.A.n, p = n + 1, m = own.m, r = model.rows.r;
    if (m == 0) return 0;
    for (int64_t step = 0; step < steps; ++step) {
        if (progress[DONE] != 0) return step;
        const int64_t top = top_of(V, own.gram, own.vectors, p, m);
        gradient_at(model.rows, z, own.z_new);
        adjoint(model.A, own.z_new, model.c, own.g);
        const double moved =
            move(V, own.U, own.g, own.vectors, top, progress[RHO], progress[CURVATURE], options[GRID], p, m);
        for (int64_t j = 0; j < n; ++j) own.x_new[j] = small_dot(own.U, own.U + (j + 1) * m, m);
        for (int64_t i = 0; i < r; ++i) own.z_new[i] = -b[i];
        add_product(model.A, own.x_new, own.z_new);
        progress[INNER] += 1;
        bool kept = true;
        if (options[BACKTRACK] != 0 || options[OBJECTIVE_TOL] >= 0) {
            const double smoothed = envelope_at(model.rows, own.z_new) + linear_at(model.c, own.x_new, n);
            if (options[BACKTRACK] != 0) {
                kept = promised(smoothed, own.g, x, own.x_new, n, progress);
                progress[CURVATURE] *= options[kept ? SHRINK : GROW];
            }
            if (kept) progress[SMOOTHED] = smoothed;
        }
        if (kept) {
            copy(own.U, V, p * m);
            copy(own.x_new, x, n);
            copy(own.z_new, z, r);
        }
        // A small step ends the loop even if it was taken back: by rounding, no step may ever be kept.
        const bool small = !(moved > options[STEP_TOL] * options[STEP_TOL] * double(p));
        if (small || (kept && progress[INNER] >= options[MAX_INNER]))
            raise_penalty(V, own.gram, own.vectors, p, m, progress, options);
    }
    return steps;
}

// The smoothed objective at (x, z).
template <class S, class T = typename S::Real> double smoothed_value(const Model<S>& model, const T* x, const T* z) {
    return envelope_at(model.rows, z) + linear_at(model.c, x, model.A.n);
}

}  // namespace dcra::lifted

DCRA_STORES(lifted, advance)
DCRA_STORES(lifted, smoothed_value)
