// The compact dual simplex method for sums of kinks over a box:
//
//     minimise  sum_i max(hi_i z_i, lo_i z_i) + c'x,   z = Ax - b,   l <= x <= u.
//
// A vertex has k variables J between their bounds and k rows I with z_i = 0; of all else it is known at which end it
// stands. The inverse of A[I, J] is kept and changed by rank one; no variable is ever made for a row. With slopes y of
// the rows and q = A'y + c the bound is -b'y + sum_j min(l_j q_j, u_j q_j), and each step raises it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "lanes.hpp"

namespace dcra {

// The problem; `mean` is the mean square of a row, eps `reach` what a unit of its slope may cost a bound by rounding.
struct Kinks {
    const double *rows, *cols, *b, *c, *lo, *hi, *mean, *reach;
    int64_t r, n;
};

// A vertex, and room to work. counts: [k, free columns, pivots, fresh inverses]; value: [the bound, what it allows].
struct Vertex {
    double *l, *u, *x, *q, *y, *z, *inverse, *norms;
    int64_t *J, *I, *in_J, *in_I, *columns, *counts;
    double *value, *dq, *dy, *dx, *part, *times;
    int64_t* order;
    int64_t n, r, K, w;
};

enum Outcome : int64_t { SOLVED = 0, CUT = 1, PAUSED = 2, TROUBLE = 3 };

namespace simplex {

constexpr double FAR = 1e300, NEAR = 1e-9, SMALL_PIVOT = 1e-9, LOOSE = 1e-10;
constexpr double EPS = std::numeric_limits<double>::epsilon();

DCRA_INLINE void add(int64_t n, double a, const double* x, double* y) {
    each<double>(n, [=](auto lane, int64_t i) { lane.store(y + i, lane.load(y + i) + a * lane.load(x + i)); });
}

DCRA_INLINE double dot(int64_t n, const double* x, const double* y) {
    return sum<double>(n, [=](auto lane, int64_t i) { return lane.load(x + i) * lane.load(y + i); });
}

// out += sum_p by[p] lines[at[p]], four lines at a time.
inline void combine(const double* lines, int64_t length, const int64_t* at, const double* by, int64_t count, double* out) {
    int64_t p = 0;
    for (; p + 4 <= count; p += 4) {
        const double a = by[p], b = by[p + 1], c = by[p + 2], d = by[p + 3];
        const double *A = lines + at[p] * length, *B = lines + at[p + 1] * length, *C = lines + at[p + 2] * length,
                     *D = lines + at[p + 3] * length;
        each<double>(length, [=](auto lane, int64_t i) {
            lane.store(out + i, lane.load(out + i) + ((a * lane.load(A + i) + b * lane.load(B + i)) +
                                                      (c * lane.load(C + i) + d * lane.load(D + i))));
        });
    }
    for (; p < count; ++p) add(length, by[p], lines + at[p] * length, out);
}

// line += a v; the sum of squares of what it is then.
DCRA_INLINE double bend(int64_t n, double* line, double a, const double* v) {
    return sum<double>(n, [=](auto lane, int64_t i) {
        const auto t = lane.load(line + i) + a * lane.load(v + i);
        lane.store(line + i, t);
        return t * t;
    });
}

DCRA_INLINE double clip(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }

// What a row's slope is at its end nearest to y; 0 between two ends that are infinite.
DCRA_INLINE double end_of(double y, double lo, double hi) {
    const bool low = lo > -FAR, high = hi < FAR;
    if (low && high) return y - lo < hi - y ? lo : hi;
    return low ? lo : high ? hi : 0.0;
}

inline void list_free(const Vertex& v) {
    int64_t count = 0;
    for (int64_t j = 0; j < v.n; ++j)
        if (v.u[j] > v.l[j]) v.columns[count++] = j;
    v.counts[1] = count;
}

// The inverse of the k x k matrix in M (rows K apart), in place, by Gauss and Jordan; false where it has none.
inline bool invert(double* M, int64_t K, int64_t k, int64_t* swapped) {
    for (int64_t s = 0; s < k; ++s) {
        int64_t at = s;
        for (int64_t p = s + 1; p < k; ++p)
            if (std::fabs(M[p * K + s]) > std::fabs(M[at * K + s])) at = p;
        swapped[s] = at;
        if (at != s)
            for (int64_t p = 0; p < k; ++p) std::swap(M[s * K + p], M[at * K + p]);
        const double pivot = M[s * K + s];
        if (!(std::fabs(pivot) > 1e-11)) return false;
        M[s * K + s] = 1.0;
        for (int64_t p = 0; p < k; ++p) M[s * K + p] /= pivot;
        for (int64_t t = 0; t < k; ++t) {
            if (t == s) continue;
            const double a = M[t * K + s];
            if (a == 0) continue;
            M[t * K + s] = 0.0;
            add(k, -a, M + s * K, M + t * K);
        }
    }
    for (int64_t s = k - 1; s >= 0; --s)
        if (swapped[s] != s)
            for (int64_t p = 0; p < k; ++p) std::swap(M[p * K + s], M[p * K + swapped[s]]);
    return true;
}

DCRA_INLINE void measure(const Vertex& v) {
    for (int64_t s = 0; s < v.counts[0]; ++s) {
        const double* line = v.inverse + s * v.K;
        v.norms[s] = dot(v.counts[0], line, line);
    }
}

// The empty basis: every row at the end nearest to its slope.
inline void forget(const Kinks& A, const Vertex& v) {
    for (int64_t j = 0; j < v.n; ++j) v.in_J[j] = -1;
    for (int64_t i = 0; i < v.r; ++i) {
        v.in_I[i] = -1;
        v.y[i] = end_of(v.y[i], A.lo[i], A.hi[i]);
    }
    v.counts[0] = 0;
}

// q = A'y + c from scratch.
inline void pull(const Kinks& A, const Vertex& v) {
    int64_t count = 0;
    for (int64_t j = 0; j < v.n; ++j) v.q[j] = A.c[j];
    for (int64_t i = 0; i < v.r; ++i)
        if (v.y[i] != 0) v.part[count] = v.y[i], v.order[count++] = i;
    combine(A.rows, v.n, v.order, v.part, count, v.q);
}

// The bound that y gives, q being A'y + c.
DCRA_INLINE double bound_of(const Kinks& A, const Vertex& v) {
    double total = -dot(v.r, A.b, v.y);
    for (int64_t j = 0; j < v.n; ++j) {
        const double low = v.l[j] * v.q[j], high = v.u[j] * v.q[j];
        total += low < high ? low : high;
    }
    return total;
}

// Everything from the basis alone: the inverse, slopes, q, x, z and the bound. False where the basis is none.
inline bool settle(const Kinks& A, const Vertex& v) {
    const int64_t k = v.counts[0], K = v.K;
    for (int64_t p = 0; p < k; ++p)
        for (int64_t s = 0; s < k; ++s) v.inverse[p * K + s] = A.rows[v.I[p] * v.n + v.J[s]];
    ++v.counts[3];
    if (!invert(v.inverse, K, k, v.order)) return false;
    for (int64_t p = 0; p < k; ++p) v.y[v.I[p]] = 0.0;
    pull(A, v);
    for (int64_t p = 0; p < k; ++p) {
        double t = 0;
        for (int64_t s = 0; s < k; ++s) t -= v.inverse[s * K + p] * v.q[v.J[s]];
        v.dy[p] = v.y[v.I[p]] = clip(t, A.lo[v.I[p]], A.hi[v.I[p]]);
    }
    combine(A.rows, v.n, v.I, v.dy, k, v.q);
    for (int64_t i = 0; i < v.r; ++i) v.z[i] = -A.b[i];
    for (int64_t j = 0; j < v.n; ++j) {
        if (v.in_J[j] >= 0) continue;
        v.x[j] = v.q[j] > 0 ? v.l[j] : v.u[j];
        if (v.x[j] != 0) add(v.r, v.x[j], A.cols + j * v.r, v.z);
    }
    for (int64_t p = 0; p < k; ++p) v.part[p] = v.z[v.I[p]];
    for (int64_t s = 0; s < k; ++s) v.dx[s] = v.x[v.J[s]] = -dot(k, v.inverse + s * K, v.part);
    combine(A.cols, v.r, v.J, v.dx, k, v.z);
    measure(v);
    v.value[0] = bound_of(A, v);
    return true;
}

// Whether reduced costs of the basis vanish, as they must where no slope was clipped.
inline bool consistent(const Vertex& v) {
    for (int64_t s = 0; s < v.counts[0]; ++s)
        if (!(std::fabs(v.q[v.J[s]]) <= 1e-7)) return false;
    return true;
}

// A vertex again, from its basis where that is sound, or else from the empty one.
inline void restart(const Kinks& A, const Vertex& v) {
    if (settle(A, v) && consistent(v)) return;
    forget(A, v);
    settle(A, v);
}

// One step of the method: what leaves (kind 1 a column, 2 a row, 0 nothing), what it meets, how far it goes.
struct Move {
    int64_t kind = 0, who = -1, entering = -1, blocking = -1, flips = 0;
    double sign = 0, slope = 0, step = 0, gain = 0;
};

// How much a step from each row would gain, in v.part, as off^2 over the length of its edge; the most of it.
DCRA_INLINE double gauge_rows(const Kinks& A, const Vertex& v, double total, double least) {
    const double *y = v.y, *z = v.z, *lo = A.lo, *hi = A.hi, *mean = A.mean;
    double* score = v.part;
    return most<double>(v.r, least, [=](auto lane, int64_t i) {
        const auto slope = lane.load(y + i), at = lane.load(z + i), none = at - at;
        const auto off = greater(slope < lane.load(hi + i) ? at : none, slope > lane.load(lo + i) ? -at : none);
        const auto gain = off > NEAR ? off * off / (1.0 + total * lane.load(mean + i)) : none;
        lane.store(score + i, gain);
        return gain;
    });
}

// What leaves; rows of the basis are at z = 0 and do not count.
inline Move choose(const Kinks& A, const Vertex& v) {
    Move m;
    double best = 0, total = 0;
    for (int64_t s = 0; s < v.counts[0]; ++s) {
        total += v.norms[s];
        const int64_t j = v.J[s];
        const double over = v.x[j] - v.u[j], under = v.l[j] - v.x[j], off = over > under ? over : under;
        if (off > NEAR && off * off > best * v.norms[s]) best = off * off / v.norms[s], m.kind = 1, m.who = s;
    }
    const double* score = v.part;
    const double largest = gauge_rows(A, v, total, best);
    if (largest > best) {
        m.kind = 2;
        m.who = find<double>(0, v.r, [=](auto lane, int64_t i) { return lane.load(score + i) >= largest; });
    }
    return m;
}

// The direction of slopes and reduced costs: dy on the rows of the basis, dq on all columns.
inline void aim(const Kinks& A, const Vertex& v, Move& m) {
    const int64_t k = v.counts[0], K = v.K;
    if (m.kind == 1) {
        const int64_t j = v.J[m.who];
        m.sign = v.x[j] > v.u[j] ? -1.0 : 1.0;
        m.slope = v.x[j] > v.u[j] ? v.x[j] - v.u[j] : v.l[j] - v.x[j];
        for (int64_t p = 0; p < k; ++p) v.dy[p] = m.sign * v.inverse[m.who * K + p];
    } else {
        m.sign = v.z[m.who] > 0 ? 1.0 : -1.0;
        m.slope = std::fabs(v.z[m.who]);
        for (int64_t p = 0; p < k; ++p) v.dy[p] = 0.0;
        const double* row = A.rows + m.who * v.n;
        for (int64_t s = 0; s < k; ++s) add(k, -m.sign * row[v.J[s]], v.inverse + s * K, v.dy);
    }
    for (int64_t j = 0; j < v.n; ++j) v.dq[j] = 0.0;
    combine(A.rows, v.n, v.I, v.dy, k, v.dq);
    if (m.kind == 2) add(v.n, m.sign, A.rows + m.who * v.n, v.dq);
}

// How far slopes let the step go: of the rows that end at about the same length, that of the largest pivot.
inline double slopes_allow(const Kinks& A, const Vertex& v, Move& m) {
    const int64_t k = v.counts[0];
    const double* d = v.dy;
    double *room = v.part, step = FAR;
    for (int64_t p = 0; p < k; ++p) {
        const int64_t i = v.I[p];
        room[p] = d[p] > 0 ? A.hi[i] - v.y[i] : v.y[i] - A.lo[i];
    }
    const double allowed = -most<double>(k, -FAR, [=](auto lane, int64_t p) {
        const auto size = magnitude(lane.load(d + p));
        return size > SMALL_PIVOT ? -(lane.load(room + p) + LOOSE) / size : size - FAR;
    });
    if (allowed < FAR) {
        const double reach = allowed * (1 + 8 * EPS);  // the row that allows least must be among them
        const auto pivot = [=](auto lane, int64_t p) {
            const auto size = magnitude(lane.load(d + p)), none = size - size;
            const auto sound = size > SMALL_PIVOT ? size : none;
            return lane.load(room + p) <= reach * size ? sound : none;
        };
        const double largest = most<double>(k, 0.0, pivot);
        m.blocking = find<double>(0, k, [=](auto lane, int64_t p) { return pivot(lane, p) >= largest; });
        step = room[m.blocking] > 0 ? room[m.blocking] / largest : 0.0;
    }
    if (m.kind == 2) {
        const double t = m.sign > 0 ? A.hi[m.who] - v.y[m.who] : v.y[m.who] - A.lo[m.who];
        if (t <= step && t < FAR) step = t, m.blocking = -2;
    }
    return step;
}

// Columns whose reduced cost changes its sign before the end of the step, with the lengths at which it does.
inline int64_t breakpoints(const Vertex& v, double most) {
    int64_t count = 0;
    for (int64_t p = 0; p < v.counts[1]; ++p) {
        const int64_t j = v.columns[p];
        if (v.in_J[j] >= 0 || !(v.u[j] > v.l[j])) continue;
        const double d = v.dq[j];
        double t = FAR;
        if (d > LOOSE && v.x[j] > v.l[j]) t = (v.q[j] < 0 ? -v.q[j] : 0.0) / d;
        else if (d < -LOOSE && v.x[j] < v.u[j]) t = (v.q[j] > 0 ? -v.q[j] : 0.0) / d;
        if (t < most) v.times[count] = t, v.order[count++] = j;
    }
    return count;
}

// Pass breakpoints, flipping their columns, until the bound would fall: that column enters.
inline void pass(const Vertex& v, Move& m, int64_t count, double most) {
    double at = 0;
    for (int64_t f = 0; f < count; ++f) {
        int64_t a = f;
        for (int64_t p = f + 1; p < count; ++p)
            if (v.times[p] < v.times[a]) a = p;
        std::swap(v.times[a], v.times[f]);
        std::swap(v.order[a], v.order[f]);
        const int64_t j = v.order[f];
        m.gain += m.slope * (v.times[f] - at);
        at = v.times[f];
        m.slope -= (v.u[j] - v.l[j]) * std::fabs(v.dq[j]);
        if (m.slope > 0) {
            m.flips = f + 1;
            continue;
        }
        m.entering = j;
        for (int64_t p = f + 1; p < count && std::fabs(v.dq[m.entering]) < 1e-6; ++p) {  // a larger pivot near by
            const double d = std::fabs(v.dq[v.order[p]]);
            if (v.times[p] <= at + LOOSE / (d > SMALL_PIVOT ? d : SMALL_PIVOT) && d > std::fabs(v.dq[m.entering]))
                m.entering = v.order[p];
        }
        m.step = at;
        return;
    }
    m.gain += m.slope * (most - at);
    m.step = most;
}

// Take the step: slopes, reduced costs, flips.
inline void go(const Kinks& A, const Vertex& v, const Move& m) {
    const double t = m.step;
    for (int64_t p = 0; p < v.counts[0]; ++p) {
        const int64_t i = v.I[p];
        v.y[i] = clip(v.y[i] + t * v.dy[p], A.lo[i], A.hi[i]);
    }
    if (m.kind == 2) v.y[m.who] = clip(v.y[m.who] + t * m.sign, A.lo[m.who], A.hi[m.who]);
    add(v.n, t, v.dq, v.q);
    for (int64_t f = 0; f < m.flips; ++f) {
        const int64_t j = v.order[f];
        const double to = v.x[j] <= v.l[j] ? v.u[j] : v.l[j];
        add(v.r, to - v.x[j], A.cols + j * v.r, v.z);
        v.x[j] = to;
    }
    if (m.kind == 1) {
        const int64_t j = v.J[m.who];
        const double to = m.sign < 0 ? v.u[j] : v.l[j];
        add(v.r, to - v.x[j], A.cols + j * v.r, v.z);
        v.x[j] = to;
        v.q[j] = t * m.sign;
    }
}

// dx = inverse A[I, j].
DCRA_INLINE void column_of(const Kinks& A, const Vertex& v, int64_t j) {
    const int64_t k = v.counts[0];
    for (int64_t p = 0; p < k; ++p) v.part[p] = A.cols[j * v.r + v.I[p]];
    for (int64_t s = 0; s < k; ++s) v.dx[s] = dot(k, v.inverse + s * v.K, v.part);
}

// Column `who` of the basis gives way to the one that enters.
inline bool change_column(const Kinks& A, const Vertex& v, const Move& m) {
    const int64_t k = v.counts[0], K = v.K;
    column_of(A, v, m.entering);
    const double pivot = v.dx[m.who];
    if (!(std::fabs(pivot) > SMALL_PIVOT)) return false;
    double* own = v.inverse + m.who * K;
    for (int64_t p = 0; p < k; ++p) own[p] /= pivot;
    v.norms[m.who] /= pivot * pivot;
    for (int64_t s = 0; s < k; ++s)
        if (s != m.who) v.norms[s] = bend(k, v.inverse + s * K, -v.dx[s], own);
    v.in_J[v.J[m.who]] = -1;
    v.J[m.who] = m.entering;
    v.in_J[m.entering] = m.who;
    v.q[m.entering] = 0.0;
    return true;
}

// Column `who` and the row that blocks leave.
inline bool shrink(const Kinks& A, const Vertex& v, const Move& m) {
    const int64_t K = v.K, last = v.counts[0] - 1, k = v.counts[0], p0 = m.blocking, s0 = m.who;
    const double pivot = v.inverse[s0 * K + p0];
    if (!(std::fabs(pivot) > 1e-11)) return false;
    for (int64_t s = 0; s < k; ++s)
        if (s != s0) v.norms[s] = bend(k, v.inverse + s * K, -v.inverse[s * K + p0] / pivot, v.inverse + s0 * K);
    const int64_t i = v.I[p0];
    v.y[i] = v.dy[p0] > 0 ? A.hi[i] : A.lo[i];
    v.in_I[i] = -1;
    v.in_J[v.J[s0]] = -1;
    if (s0 != last) {
        for (int64_t p = 0; p < k; ++p) v.inverse[s0 * K + p] = v.inverse[last * K + p];
        v.J[s0] = v.J[last];
        v.in_J[v.J[s0]] = s0;
        v.norms[s0] = v.norms[last];
    }
    if (p0 != last) {
        for (int64_t s = 0; s < k; ++s) v.inverse[s * K + p0] = v.inverse[s * K + last];
        v.I[p0] = v.I[last];
        v.in_I[v.I[p0]] = p0;
    }
    v.counts[0] = last;
    return true;
}

// Row `who` and the column that enters join the basis.
inline bool grow(const Kinks& A, const Vertex& v, const Move& m) {
    const int64_t k = v.counts[0], K = v.K;
    if (k >= K) return false;
    column_of(A, v, m.entering);
    const double* row = A.rows + m.who * v.n;
    double pivot = row[m.entering];
    for (int64_t s = 0; s < k; ++s) pivot -= row[v.J[s]] * v.dx[s];
    if (!(std::fabs(pivot) > SMALL_PIVOT)) return false;
    double* own = v.inverse + k * K;
    for (int64_t p = 0; p < k; ++p) v.dy[p] = -m.sign * v.dy[p] / pivot, own[p] = -v.dy[p];
    for (int64_t s = 0; s < k; ++s) {
        const double side = v.dx[s] / pivot;
        v.norms[s] = bend(k, v.inverse + s * K, v.dx[s], v.dy) + side * side;
        v.inverse[s * K + k] = -side;
    }
    own[k] = 1.0 / pivot;
    v.norms[k] = dot(k + 1, own, own);
    v.J[k] = m.entering, v.in_J[m.entering] = k, v.q[m.entering] = 0.0;
    v.I[k] = m.who, v.in_I[m.who] = k;
    v.counts[0] = k + 1;
    return true;
}

// The row that blocks gives way to row `who`.
inline bool change_row(const Kinks& A, const Vertex& v, const Move& m) {
    const int64_t k = v.counts[0], K = v.K, p0 = m.blocking, i = v.I[p0];
    const double pivot = -m.sign * v.dy[p0];
    if (!(std::fabs(pivot) > SMALL_PIVOT)) return false;
    v.y[i] = v.dy[p0] > 0 ? A.hi[i] : A.lo[i];
    for (int64_t p = 0; p < k; ++p) v.dx[p] = -m.sign * v.dy[p];
    v.dx[p0] -= 1.0;  // so that the change gives column p0, too
    for (int64_t s = 0; s < k; ++s) v.norms[s] = bend(k, v.inverse + s * K, -v.inverse[s * K + p0] / pivot, v.dx);
    v.in_I[i] = -1;
    v.I[p0] = m.who;
    v.in_I[m.who] = p0;
    return true;
}

inline bool exchange(const Kinks& A, const Vertex& v, const Move& m) {
    if (m.entering >= 0) return m.kind == 1 ? change_column(A, v, m) : grow(A, v, m);
    if (m.kind == 1) return shrink(A, v, m);
    if (m.blocking == -2) return true;
    return change_row(A, v, m);
}

// x of the basis and z after a change; false where they have drifted.
inline bool follow(const Kinks& A, const Vertex& v, const Move& m) {
    const int64_t k = v.counts[0], K = v.K;
    const bool turned = m.kind == 2 && m.entering < 0 && m.blocking == -2;
    if (m.kind == 2 && m.flips == 0) {
        if (turned) return true;
        const int64_t p = v.in_I[m.who];
        for (int64_t s = 0; s < k; ++s) v.dx[s] = -v.inverse[s * K + p] * v.z[m.who];
    } else {
        for (int64_t p = 0; p < k; ++p) v.part[p] = v.z[v.I[p]];
        for (int64_t s = 0; s < k; ++s) v.dx[s] = -dot(k, v.inverse + s * K, v.part);
    }
    combine(A.cols, v.r, v.J, v.dx, k, v.z);
    for (int64_t s = 0; s < k; ++s) v.x[v.J[s]] += v.dx[s];
    double off = 0;
    for (int64_t p = 0; p < k; ++p) {
        const double e = std::fabs(v.z[v.I[p]]);
        off = e > off || !(e == e) ? e : off;
        v.z[v.I[p]] = 0.0;
    }
    return off <= NEAR;
}

DCRA_INLINE int64_t pivot_work(const Vertex& v) {
    const int64_t k = v.counts[0] + 1;
    return 2 * k * k + (k + 2) * (v.n + v.r);
}

// Steps from a vertex whose reduced costs are sound until it is optimal, its bound has reached `cutoff`, or `work`
// (entries touched; what is left comes back) or `pivots` are used up.
inline int64_t solve(const Kinks& A, const Vertex& v, double cutoff, int64_t& work, int64_t pivots) {
    for (int64_t count = 1;; ++count) {
        if (v.value[0] >= cutoff) return CUT;
        if (count > pivots || work <= 0) return PAUSED;
        Move m = choose(A, v);
        if (m.kind == 0) return SOLVED;
        ++v.counts[2];
        work -= pivot_work(v);
        aim(A, v, m);
        const double most = slopes_allow(A, v, m);
        pass(v, m, breakpoints(v, most), most);
        if (m.entering < 0 && m.step >= FAR) {
            if (!(cutoff < FAR)) return TROUBLE;
            m.step = 2.0 * (cutoff - v.value[0] + 1.0) / m.slope;  // no point is feasible: far along the ray
            go(A, v, m);
            v.value[0] = cutoff;
            return CUT;
        }
        if (!(m.gain >= 0)) return TROUBLE;
        v.value[0] += m.gain;
        go(A, v, m);
        if (!exchange(A, v, m)) return TROUBLE;
        if (follow(A, v, m) && v.counts[2] % 1024) continue;
        if (!settle(A, v) || !consistent(v)) return TROUBLE;
        work -= v.counts[0] * v.counts[0] * v.counts[0] + 2 * v.n * v.r;
    }
}

// The bound computed anew from the slopes, which it leaves in q and value[0]; what rounding may have cost it comes back.
inline double look_again(const Kinks& A, const Vertex& v, double size) {
    pull(A, v);
    v.value[0] = bound_of(A, v);
    for (int64_t i = 0; i < v.r; ++i) size += std::fabs(v.y[i]) * A.reach[i];
    return EPS * size;
}

}  // namespace simplex
}  // namespace dcra
