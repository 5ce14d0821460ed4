// Branch and bound on sums of kinks over a box whose variables stand at one end or the other: depth first, each
// node's relaxation by the compact dual simplex method.
//
// Nothing is cut off but by a bound that was computed anew from the slopes, less what rounding may have cost it. What
// was concluded from which slopes is written down, so that others can check it. The loop is a machine of phases that
// stops between two of them, when the work given is used up, and goes on from there.

#include "export.hpp"
#include "simplex.hpp"

namespace dcra::branching {

using namespace dcra::simplex;

// Saved vertices, one per level and one beside them for trials; what branching knows; what was concluded.
struct Tree {
    double *x, *q, *y, *z;
    int64_t *J, *I, *size;
    double *bound, *spare, *store;
    int64_t *spot, *var, *side, *node, *mark, *trail;
    const double *low, *high;
    double *gains, *tries, *scores, *best, *point, *residual, *numbers;
    int64_t *candidates, *cursor, *events;
    double* slopes;
    int64_t levels, n, r, K, room, e, s;
};

enum Phase : int64_t { SOLVE, FIX, DIVIDE, TRY, PUSH, BACK };
enum Answer : int64_t { CLOSED = 0, SPLIT = 1, TIRED = 2, FULL = 3, FOUND = 4, REACHED = 5 };
enum Event : int64_t { TO_LOW = 0, TO_HIGH = 1, LEAF = 2, BRANCH = 3, POINT = 4 };

// cursor
enum Place : int64_t {
    PHASE, DEPTH, NODES, BUDGET, NODE, NEXT, USED, EVENTS, SLOPES, EVERY, AGAIN, SPENT, COUNT, DONE, STALE, CHOSEN,
    SAVED, TRIED, LEFT, LOOKED
};
// numbers
enum Number : int64_t { CUTOFF, BEST, REST, ROOT, SCORE, SAFE, ALLOWED };

constexpr int64_t RELIABLE = 4, TRIAL_PIVOTS = 20, MOST_TRIALS = 100, LOOK_ON = 4, RESTARTS = 3, SMALL = 16;
constexpr double INSIDE = 1e-7, LEAST_GAIN = 1e-6, PRICE = 1e4;

// Write down y and return its number.
inline int64_t note_slopes(const Vertex& v, const Tree& t) {
    const int64_t at = t.cursor[SLOPES]++;
    for (int64_t i = 0; i < v.r; ++i) t.slopes[at * v.r + i] = v.y[i];
    return at;
}

inline void note(const Tree& t, int64_t kind, int64_t what, int64_t slopes) {
    int64_t* row = t.events + 4 * t.cursor[EVENTS]++;
    row[0] = kind, row[1] = t.cursor[NODE], row[2] = what, row[3] = slopes;
}

inline void save(const Vertex& v, const Tree& t, int64_t at, double* inverse) {
    const int64_t k = v.counts[0];
    for (int64_t j = 0; j < v.n; ++j) t.x[at * v.n + j] = v.x[j], t.q[at * v.n + j] = v.q[j];
    for (int64_t i = 0; i < v.r; ++i) t.y[at * v.r + i] = v.y[i], t.z[at * v.r + i] = v.z[i];
    for (int64_t s = 0; s < k; ++s) {
        t.J[at * v.K + s] = v.J[s], t.I[at * v.K + s] = v.I[s];
        if (inverse)
            for (int64_t p = 0; p < k; ++p) inverse[s * k + p] = v.inverse[s * v.K + p];
    }
    t.size[at] = k;
    t.bound[at] = v.value[0];
}

inline void load(const Kinks& A, const Vertex& v, const Tree& t, int64_t at, const double* inverse) {
    for (int64_t s = 0; s < v.counts[0]; ++s) v.in_J[v.J[s]] = -1, v.in_I[v.I[s]] = -1;
    const int64_t k = v.counts[0] = t.size[at];
    for (int64_t j = 0; j < v.n; ++j) v.x[j] = t.x[at * v.n + j], v.q[j] = t.q[at * v.n + j];
    for (int64_t i = 0; i < v.r; ++i) v.y[i] = t.y[at * v.r + i], v.z[i] = t.z[at * v.r + i];
    for (int64_t s = 0; s < k; ++s) {
        v.in_J[v.J[s] = t.J[at * v.K + s]] = s, v.in_I[v.I[s] = t.I[at * v.K + s]] = s;
        if (inverse)
            for (int64_t p = 0; p < k; ++p) v.inverse[s * v.K + p] = inverse[s * k + p];
    }
    v.value[0] = t.bound[at];
    if (inverse) measure(v);
    else restart(A, v);
}

DCRA_INLINE int64_t copying(const Vertex& v) { return 2 * (v.n + v.r) + v.counts[0] * v.counts[0]; }

// Fix a variable at one end, to be freed again by `release`.
inline void fix(const Vertex& v, const Tree& t, int64_t j, bool high) {
    v.l[j] = v.u[j] = high ? t.high[j] : t.low[j];
    t.trail[t.cursor[USED]++] = j;
}

inline void release(const Vertex& v, const Tree& t, int64_t mark) {
    while (t.cursor[USED] > mark) {
        const int64_t j = t.trail[--t.cursor[USED]];
        v.l[j] = t.low[j], v.u[j] = t.high[j];
    }
}

// The value at residuals w; a row that must not be violated, and is, makes it infinite.
inline double value_at(const Kinks& A, const double* w, double linear) {
    double total = linear;
    for (int64_t i = 0; i < A.r; ++i) {
        if (w[i] == 0) continue;
        const double slope = w[i] > 0 ? A.hi[i] : A.lo[i];
        if (!(std::fabs(slope) < FAR)) {
            if (std::fabs(w[i]) > INSIDE) return std::numeric_limits<double>::infinity();
            continue;
        }
        total += slope * w[i];
    }
    return total;
}

DCRA_INLINE double priced(const Kinks& A, const double* w, double d, const double* column) {
    double total = 0;
    for (int64_t i = 0; i < A.r; ++i) {
        const double e = w[i] + d * column[i];
        const double up = clip(A.hi[i], -PRICE, PRICE) * e, down = clip(A.lo[i], -PRICE, PRICE) * e;
        total += up > down ? up : down;
    }
    return total;
}

// Flips from t.point that lower the priced value, pass after pass; keeps what is better than the best.
inline bool look_around(const Kinks& A, const Vertex& v, const Tree& t, int64_t passes, int64_t& work) {
    double *w = t.residual, *x = t.point, linear = 0;
    for (int64_t i = 0; i < v.r; ++i) w[i] = -A.b[i];
    for (int64_t j = 0; j < v.n; ++j) {
        linear += A.c[j] * x[j];
        if (x[j] != 0) add(v.r, x[j], A.cols + j * v.r, w);
    }
    work -= v.n * v.r;
    double own = priced(A, w, 0.0, w) + linear;
    for (bool going = passes > 0; going && passes > 0; --passes) {
        going = false;
        for (int64_t j = 0; j < v.n; ++j) {
            if (!(t.high[j] > t.low[j])) continue;
            const double d = t.low[j] + t.high[j] - 2 * x[j], side = A.c[j] * d;
            const double value = priced(A, w, d, A.cols + j * v.r) + linear + side;
            if (!(value < own - 1e-9 * (1 + std::fabs(own)))) continue;
            add(v.r, d, A.cols + j * v.r, w);
            x[j] += d, linear += side, own = value, going = true;
        }
        work -= v.n * v.r;
    }
    const double value = value_at(A, w, linear);
    if (!(value < t.numbers[BEST])) return false;
    t.numbers[BEST] = value;
    for (int64_t j = 0; j < v.n; ++j) t.best[j] = x[j];
    return true;
}

inline void round_off(const Vertex& v, const Tree& t) {
    for (int64_t j = 0; j < v.n; ++j) t.point[j] = v.x[j] - v.l[j] < v.u[j] - v.x[j] ? v.l[j] : v.u[j];
}

// Whether the slopes, looked at again, rule out all that is better than the best.
inline bool ruled_out(const Kinks& A, const Vertex& v, const Tree& t, int64_t& work) {
    t.numbers[ALLOWED] = look_again(A, v, t.numbers[REST]);
    t.numbers[SAFE] = v.value[0] - t.numbers[ALLOWED];
    work -= v.n * v.r;
    return t.numbers[SAFE] >= t.numbers[CUTOFF];
}

// Go on with the relaxation of the present node; slopes that rule it out end it.
inline void solve_node(const Kinks& A, const Vertex& v, const Tree& t, int64_t& work) {
    int64_t* at = t.cursor;
    const int64_t before = v.counts[2], most = 20 * (v.n + v.r);
    const int64_t outcome =
        solve(A, v, t.numbers[CUTOFF] + 2 * t.numbers[ALLOWED], work, most - at[SPENT] > 0 ? most - at[SPENT] : 1);
    at[SPENT] += v.counts[2] - before;
    if (outcome == PAUSED && at[SPENT] < most) return;
    const bool out = ruled_out(A, v, t, work);
    if (at[DEPTH] == 0 && t.numbers[SAFE] > t.numbers[ROOT]) t.numbers[ROOT] = t.numbers[SAFE];
    if (out) {
        note(t, LEAF, 0, note_slopes(v, t));
        at[PHASE] = BACK;
        return;
    }
    if (outcome != SOLVED && ++at[AGAIN] <= RESTARTS) {
        if (at[AGAIN] == RESTARTS) forget(A, v);
        restart(A, v);
        work -= v.counts[0] * v.counts[0] * v.counts[0] + 2 * v.n * v.r;
        at[SPENT] = 0;
        return;
    }
    at[PHASE] = FIX;
}

// Fix variables whose other end the slopes rule out.
inline void fix_by_slopes(const Vertex& v, const Tree& t) {
    const double room = t.numbers[CUTOFF] - t.numbers[SAFE] + 2 * t.numbers[ALLOWED];
    int64_t slopes = -1;
    for (int64_t p = 0; p < v.counts[1]; ++p) {
        const int64_t j = v.columns[p];
        if (!(v.u[j] > v.l[j]) || v.in_J[j] >= 0) continue;
        const bool high = v.q[j] < 0;
        if (!((v.u[j] - v.l[j]) * std::fabs(v.q[j]) >= room) || v.x[j] != (high ? v.u[j] : v.l[j])) continue;
        if (slopes < 0) slopes = note_slopes(v, t);
        note(t, high ? TO_HIGH : TO_LOW, j, slopes);
        fix(v, t, j, high);
    }
    if (slopes >= 0) list_free(v);
    t.cursor[PHASE] = DIVIDE;
}

// What branching on j is expected to gain on either side, as one number.
DCRA_INLINE double score_of(const Vertex& v, const Tree& t, int64_t j, double room) {
    double product = 1;
    for (int64_t side = 0; side < 2; ++side) {
        const int64_t own = side * (v.n + 1) + j, all = side * (v.n + 1) + v.n;
        const double rate = t.tries[own] > 0   ? t.gains[own] / t.tries[own]
                            : t.tries[all] > 0 ? t.gains[all] / t.tries[all]
                                               : 1.0;
        double gain = rate * (side ? v.u[j] - v.x[j] : v.x[j] - v.l[j]);
        gain = gain > room ? room : gain;
        product *= gain > LEAST_GAIN ? gain : LEAST_GAIN;
    }
    return product;
}

// List the variables to branch on; a point without any is looked at, and is a leaf once nothing is free.
inline int64_t divide(const Kinks& A, const Vertex& v, const Tree& t, int64_t& work) {
    int64_t *at = t.cursor, count = 0;
    const double room = t.numbers[CUTOFF] - v.value[0];
    for (int64_t s = 0; s < v.counts[0]; ++s) {
        const int64_t j = v.J[s];
        if (v.u[j] > v.l[j] && v.x[j] > v.l[j] + INSIDE && v.x[j] < v.u[j] - INSIDE) t.candidates[count++] = j;
    }
    at[SAVED] = at[DONE] = at[STALE] = at[TRIED] = 0;
    at[CHOSEN] = -1;
    t.numbers[SCORE] = -1;
    at[PHASE] = TRY;
    const bool whole = count == 0;
    const bool now = at[EVERY] > 0 && at[NODES] % at[EVERY] == 0 && at[LOOKED] <= at[NODES];
    if (now) at[LOOKED] = at[NODES] + 1;
    for (int64_t m = 0; m < count; ++m) t.scores[m] = score_of(v, t, t.candidates[m], room);
    at[COUNT] = count;
    if (whole) {
        if (v.counts[1] == 0) {
            note(t, POINT, 0, -1);
            at[PHASE] = BACK;
        } else {  // the one whose other side is the least likely to stay open
            double most = -1;
            for (int64_t p = 0; p < v.counts[1]; ++p) {
                const double size = std::fabs(v.q[v.columns[p]]);
                if (size > most || at[CHOSEN] < 0) most = size, at[CHOSEN] = v.columns[p];
            }
            at[PHASE] = PUSH;
        }
    }
    if (!whole && !now) return TIRED;
    round_off(v, t);
    if (at[PHASE] == BACK) return REACHED;
    return look_around(A, v, t, now ? 4 : 0, work) ? FOUND : TIRED;
}

// Take note of what one side of a variable gained.
inline void learn(const Vertex& v, const Tree& t, int64_t j, int64_t side, double gain, double way) {
    const int64_t own = side * (v.n + 1) + j, all = side * (v.n + 1) + v.n;
    if (!(gain >= 0) || !(way > 0)) return;
    t.gains[own] += gain / way, t.gains[all] += gain / way;
    ++t.tries[own], ++t.tries[all];
}

// Try one side of variable j for a few steps; true where it is ruled out.
inline bool try_side(const Kinks& A, const Vertex& v, const Tree& t, int64_t j, int64_t side, double* gain,
                     int64_t& work) {
    const double l = v.l[j], u = v.u[j], from = v.value[0], way = side ? u - v.x[j] : v.x[j] - l;
    const double room = t.numbers[CUTOFF] - from;
    if (side) v.l[j] = u;
    else v.u[j] = l;
    int64_t enough = int64_t(1) << 40;
    const int64_t given = enough;
    const int64_t outcome = solve(A, v, t.numbers[CUTOFF] + 2 * t.numbers[ALLOWED], enough, TRIAL_PIVOTS);
    const bool out = outcome == CUT && ruled_out(A, v, t, work);
    work -= given - enough + 2 * copying(v);
    *gain = v.value[0] - from;
    if (out) t.cursor[TRIED] = note_slopes(v, t);
    v.l[j] = l, v.u[j] = u;
    load(A, v, t, t.levels, t.spare);
    learn(v, t, j, side, out && *gain > room ? room : *gain, way);
    return out;
}

// Try the most promising of the variables that little is known of, one in a call, then choose.
inline void try_variables(const Kinks& A, const Vertex& v, const Tree& t, int64_t& work) {
    int64_t *at = t.cursor, m = -1;
    for (int64_t p = 0; p < at[COUNT]; ++p)
        if (t.scores[p] >= 0 && (m < 0 || t.scores[p] > t.scores[m])) m = p;
    if (m < 0 || at[STALE] >= LOOK_ON) {
        at[PHASE] = PUSH;
        return;
    }
    const int64_t j = t.candidates[m];
    double score = t.scores[m];
    t.scores[m] = -1;
    const double known = t.tries[j] < t.tries[v.n + 1 + j] ? t.tries[j] : t.tries[v.n + 1 + j];
    if (at[DONE] < MOST_TRIALS && known < RELIABLE) {
        if (!at[SAVED]) save(v, t, t.levels, t.spare), at[SAVED] = 1;
        const double room = t.numbers[CUTOFF] - v.value[0];
        double gain[2];
        bool out[2];
        ++at[DONE];
        score = 1;
        for (int64_t side = 0; side < 2; ++side) {
            out[side] = try_side(A, v, t, j, side, gain + side, work);
            if (out[side]) {  // only the other side is left
                if (side && out[0]) {
                    note(t, LEAF, 0, at[TRIED]);
                    at[PHASE] = BACK;
                    return;
                }
                note(t, side ? TO_LOW : TO_HIGH, j, at[TRIED]);
            }
            const double own = gain[side] > room ? room : gain[side];
            score *= own > LEAST_GAIN ? own : LEAST_GAIN;
        }
        if (out[0] || out[1]) {
            fix(v, t, j, out[0]);
            list_free(v);
            at[PHASE] = SOLVE;
            at[SPENT] = at[AGAIN] = 0;
            return;
        }
    }
    if (score > t.numbers[SCORE]) t.numbers[SCORE] = score, at[CHOSEN] = j, at[STALE] = 0;
    else ++at[STALE];
}

// Go down to the nearer side of the chosen variable; the other one waits on this level.
inline void push(const Vertex& v, const Tree& t, int64_t& work) {
    int64_t* at = t.cursor;
    const int64_t d = at[DEPTH]++, j = at[CHOSEN], k = v.counts[0];
    const int64_t begin = d ? t.spot[d - 1] < 0 ? -1 : t.spot[d - 1] + t.size[d - 1] * t.size[d - 1] : 0;
    const bool kept = begin >= 0 && begin + k * k <= t.room;
    t.spot[d] = kept ? begin : -1;
    save(v, t, d, kept ? t.store + begin : nullptr);
    work -= copying(v);
    const bool high = v.x[j] - v.l[j] > v.u[j] - v.x[j];
    note(t, BRANCH, j, at[NEXT]);
    t.var[d] = j, t.side[d] = !high, t.node[d] = at[NEXT] + !high, t.mark[d] = at[USED];
    at[NODE] = at[NEXT] + high;
    at[NEXT] += 2;
    fix(v, t, j, high);
    list_free(v);
    ++at[NODES];
    at[PHASE] = SOLVE;
    at[SPENT] = at[AGAIN] = 0;
}

// Back to the last side that waits.
inline void back(const Kinks& A, const Vertex& v, const Tree& t, int64_t& work) {
    int64_t* at = t.cursor;
    const int64_t d = --at[DEPTH];
    release(v, t, t.mark[d]);
    if (t.spot[d] < 0) work -= t.size[d] * t.size[d] * t.size[d];
    load(A, v, t, d, t.spot[d] < 0 ? nullptr : t.store + t.spot[d]);
    work -= copying(v);
    at[NODE] = t.node[d];
    fix(v, t, t.var[d], t.side[d]);
    list_free(v);
    ++at[NODES];
    at[PHASE] = SOLVE;
    at[SPENT] = at[AGAIN] = 0;
}

// Go on with the tree for about `work` entries. CLOSED, SPLIT (the budget of nodes is used up), TIRED (the work is),
// FULL (no room to write), FOUND (t.best is a better point), REACHED (t.point is a leaf).
int64_t branch(const Kinks& given, const Vertex& vertex, const Tree& tree, int64_t work) {
    const Kinks A = given;
    const Vertex v = vertex;
    const Tree t = tree;
    int64_t* at = t.cursor;
    for (;;) {
        at[LEFT] = work;
        if (at[EVENTS] + v.n + 4 > t.e || at[SLOPES] + 4 > t.s) return FULL;
        if (work <= 0) return TIRED;
        switch (at[PHASE]) {
        case SOLVE:
            if (at[DEPTH] == 0 && 2 * at[USED] > v.n && v.n > SMALL) return SPLIT;  // half of it can be left out
            solve_node(A, v, t, work);
            break;
        case FIX: fix_by_slopes(v, t); break;
        case DIVIDE:
            if (const int64_t answer = divide(A, v, t, work); answer != TIRED) return at[LEFT] = work, answer;
            break;
        case TRY: try_variables(A, v, t, work); break;
        case PUSH:
            if (at[NODES] >= at[BUDGET] || at[DEPTH] >= t.levels) return SPLIT;
            push(v, t, work);
            break;
        default:
            if (at[DEPTH] == 0) return CLOSED;
            back(A, v, t, work);
        }
    }
}

// Steps of the simplex method alone, from the vertex as it is; `basis` says whether to begin at its basis.
int64_t relax(const Kinks& given, const Vertex& vertex, double cutoff, int64_t work, int64_t fresh) {
    const Kinks A = given;
    const Vertex v = vertex;
    if (fresh) {
        if (fresh > 1) forget(A, v);
        restart(A, v);
        list_free(v);
    }
    return solve(A, v, cutoff, work, int64_t(1) << 40);
}

}  // namespace dcra::branching

DCRA_PLAIN(branching, branch)
DCRA_PLAIN(branching, relax)
