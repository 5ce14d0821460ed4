// One A, many right-hand sides: annealing in lockstep.
//
// LANES points move together. At each step all of them try the same column, so an entry of A is read once for all, and
// what remains is arithmetic on rows of LANES numbers.

#include <cmath>
#include <limits>

#include "export.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::batch {

constexpr int64_t LANES = 32, DRAWS = 1024;

// Work space of one thread: rows of LANES numbers, and where it is in the work.
template <class T> struct BatchScratch {
    T *x, *z, *best_x, *loss, *linear, *best, *last_dx, *draws;
    uint64_t* rng;
    int64_t* at;  // group, pass, column, column of the last move; see `At`
    int64_t n, r;
};

// Places in the work. Passes from 0 on have a temperature; before them a group is begun and its corners are placed.
struct At {
    static constexpr int64_t BEGIN = -2, PLACE = -1;
    int64_t group, pass, column, last;

    explicit At(const int64_t* from) : group(from[0]), pass(from[1]), column(from[2]), last(from[3]) {}
    void save(int64_t* to) const {
        to[0] = group, to[1] = pass, to[2] = column, to[3] = last;
    }
    void next_pass() { ++pass, column = 0; }
};

// A move x_j += dx of every lane; none when j < 0.
template <class T> struct Move {
    int64_t j;
    T dx[LANES];
};

// Lanes whose sums are kept in registers at a time.
template <class T> struct Strip {
    static constexpr int width = Wide<T>::width;
    static constexpr int packs = LANES / width < 4 ? int(LANES / width) : 4, lanes = packs * width;
    Pack<T> part[packs];

    DCRA_INLINE explicit Strip(const T* from) {
        DCRA_UNROLL
        for (int k = 0; k < packs; ++k) part[k] = Wide<T>::load(from + k * width);
    }
    DCRA_INLINE Strip() : part{} {}
};

// total += scale * sum over p < size of term(z_i, dx a, p), where (i, a) = entry(p).
//
// With `Moved`, z_i += last_dx last_a_p before that: one loop for the last move and the trial of the next.
template <bool Moved, class T, class E, class F>
DCRA_INLINE void add_values(int64_t size, const E& entry, const T* dx, const T* last_a, const T* last_dx, T* z, T scale,
                            T* total, const F& term) {
    using S = Strip<T>;
    for (int64_t s = 0; s < LANES; s += S::lanes) {
        const S step(dx + s), last(Moved ? last_dx + s : dx + s);
        S sums;
        for (int64_t p = 0; p < size; ++p) {
            const Entry<T> a = entry(p);
            T* at = z + a.row * LANES + s;
            DCRA_UNROLL
            for (int k = 0; k < S::packs; ++k) {
                Pack<T> u = Wide<T>::load(at + k * S::width);
                if constexpr (Moved) {
                    u += last.part[k] * last_a[p];
                    Wide<T>::store(at + k * S::width, u);
                }
                sums.part[k] += term(u, step.part[k] * a.value, p);
            }
        }
        DCRA_UNROLL
        for (int k = 0; k < S::packs; ++k) {
            T* to = total + s + k * S::width;
            Wide<T>::store(to, Wide<T>::load(to) + scale * sums.part[k]);
        }
    }
}

// f of every number of a pack, where the processor has no vector form of it.
template <class T, class F> DCRA_INLINE Pack<T> one_by_one(Pack<T> v, const F& f) {
    if constexpr (sizeof(v) == sizeof(T)) return f(v);
    else {
        for (int k = 0; k < Wide<T>::width; ++k) v[k] = f(v[k]);
        return v;
    }
}

// f(value), where value(u) is the loss of a pack of residuals of this term.
template <class T, class F> DCRA_INLINE void with_loss(const Term<T>& t, const F& f) {
    const T k = t.k, e = t.e, lo = t.lo, hi = t.hi;
    if (t.kind == LOGISTIC)
        return f([=](Pack<T> u) { return one_by_one<T>(u, [=](T v) { return logistic_value(v, k, e); }); });
    if (t.kind == CAPPED) return f([=](Pack<T> u) { return capped_value(u, k, hi); });
    if (k > 0)
        return f([=, half_k = T(0.5) * k, slope = T(1) / k](Pack<T> u) {
            return curved_value(u, half_k, slope, e, lo, hi);
        });
    return f([=](Pack<T> u) { return sharp_value(u, e, lo, hi); });
}

// Any loss; without `a`, at z itself.
template <class T> DCRA_APART void add_rare(const Term<T>& t, const T* a, const T* dx, T* z, T* total) {
    const T* weight = t.weight;
    const auto entry = [=](int64_t p) { return Entry<T>{p, a ? a[p] : T(0)}; };
    with_loss(t, [&](const auto& value) {
        add_values<false, T>(
            t.size, entry, dx, a, dx, z, T(1), total,
            [=](Pack<T> u, Pack<T> step, int64_t p) { return (weight ? weight[p] : T(1)) * value(u + step); });
    });
}

// The common losses are hi |u| and u^2 / 2k.
template <bool Moved, class T, class F>
DCRA_INLINE void add_common(const Term<T>& t, const T* a, const T* dx, const T* last_a, const T* last_dx, T* z, T scale,
                            T* total, const F& value) {
    const auto entry = [=](int64_t p) { return Entry<T>{p, a[p]}; };
    const T* weight = t.weight;
    if (weight)
        add_values<Moved, T>(
            t.size, entry, dx, last_a, last_dx, z, scale, total,
            [=](Pack<T> u, Pack<T> step, int64_t p) { return weight[p] * value(u + step); });
    else
        add_values<Moved, T>(t.size, entry, dx, last_a, last_dx, z, scale, total,
                             [=](Pack<T> u, Pack<T> step, int64_t) { return value(u + step); });
}

template <class T> DCRA_INLINE bool is_magnitude(const Term<T>& t) {
    return t.kind == TABLE && t.k == 0 && t.e == 0 && t.lo == -t.hi;
}

template <class T> DCRA_INLINE bool is_square(const Term<T>& t) {
    return t.kind == TABLE && t.k > 0 && t.e == 0 && t.hi >= T(1e30) && t.lo <= T(-1e30);
}

template <class T> DCRA_INLINE void shift_lanes(int64_t size, const T* a, const T* dx, T* z) {
    using S = Strip<T>;
    for (int64_t s = 0; s < LANES; s += S::lanes) {
        const S step(dx + s);
        for (int64_t i = 0; i < size; ++i) {
            T* at = z + i * LANES + s;
            DCRA_UNROLL
            for (int k = 0; k < S::packs; ++k)
                Wide<T>::store(at + k * S::width, Wide<T>::load(at + k * S::width) + step.part[k] * a[i]);
        }
    }
}

template <bool Moved, class T>
DCRA_INLINE void add_term(const Term<T>& t, const T* a, const T* dx, const T* last_a, const T* last_dx, T* z,
                          T* total) {
    if (is_magnitude(t))
        return add_common<Moved>(t, a, dx, last_a, last_dx, z, t.hi, total, [](Pack<T> u) { return magnitude(u); });
    if (is_square(t))
        return add_common<Moved>(t, a, dx, last_a, last_dx, z, T(0.5) / t.k, total, [](Pack<T> u) { return u * u; });
    if constexpr (Moved) shift_lanes(t.size, last_a, last_dx, z);
    add_rare(t, a, dx, z, total);
}

// New losses after `next`, from z after `last`, which z has not seen yet; last.j < 0 means none.
template <class T>
DCRA_INLINE void trial(const Dense<T>& A, const Rows<T>& rows, const Move<T>& last, const Move<T>& next, T* z, const T*,
                       T* fresh) {
    for (int64_t lane = 0; lane < LANES; ++lane) fresh[lane] = 0;
    for (int64_t t = 0; t < rows.terms; ++t) {
        const int64_t first = rows.start[t];
        const T* a = A.cols + next.j * A.r + first;
        T* at = z + first * LANES;
        if (last.j < 0) add_term<false>(Term<T>(rows, t), a, next.dx, a, next.dx, at, fresh);
        else add_term<true>(Term<T>(rows, t), a, next.dx, A.cols + last.j * A.r + first, last.dx, at, fresh);
    }
}

template <class T> DCRA_INLINE void shift(const Sparse<T>& A, const Move<T>& move, T* z) {
    for (int64_t p = A.ptr[move.j]; p < A.ptr[move.j + 1]; ++p) {
        T* at = z + A.idx[p] * LANES;
        const T a = A.val[p];
        each<T>(LANES, [=, &move](auto lane, int64_t i) {
            lane.store(at + i, lane.load(at + i) + lane.load(move.dx + i) * a);
        });
    }
}

template <class T> DCRA_INLINE void shift(const Dense<T>& A, const Move<T>& move, T* z) {
    shift_lanes(A.r, A.cols + move.j * A.r, move.dx, z);
}

template <class T, class F>
DCRA_INLINE void add_changes(const Sparse<T>& A, int64_t first, int64_t last, const T* weight, bool full, const T* dx,
                             T* z, T* total, const F& value) {
    const int32_t* idx = A.idx + first;
    const T* val = A.val + first;
    const auto entry = [=](int64_t p) { return Entry<T>{idx[p], val[p]}; };
    const auto weigh = [=](int64_t p) { return weight ? weight[idx[p]] : T(1); };
    if (full)
        add_values<false, T>(last - first, entry, dx, val, dx, z, T(1), total,
                             [=](Pack<T> u, Pack<T> step, int64_t p) { return weigh(p) * value(u + step); });
    else
        add_values<false, T>(
            last - first, entry, dx, val, dx, z, T(1), total,
            [=](Pack<T> u, Pack<T> step, int64_t p) { return weigh(p) * (value(u + step) - value(u)); });
}

// A full column visits every row, so it need not start from the old losses.
template <class T>
DCRA_INLINE void trial(const Sparse<T>& A, const Rows<T>& rows, const Move<T>& last, const Move<T>& next, T* z,
                       const T* loss, T* fresh) {
    if (last.j >= 0) shift(A, last, z);
    const bool full = length(A, next.j) == rows.r;
    for (int64_t lane = 0; lane < LANES; ++lane) fresh[lane] = full ? T(0) : loss[lane];
    for (int64_t p = A.ptr[next.j], end = A.ptr[next.j + 1]; p < end;) {
        const int64_t q = segment_end(A.idx, p, end, rows);
        const Term<T> t(rows, rows.term[A.idx[p]]);
        if (is_magnitude(t))
            add_changes(A, p, q, rows.weight, full, next.dx, z, fresh,
                        [hi = t.hi](Pack<T> u) { return hi * magnitude(u); });
        else
            with_loss(t, [&](const auto& value) {
                add_changes(A, p, q, rows.weight, full, next.dx, z, fresh, value);
            });
        p = q;
    }
}

// A group without any corner: residuals -b of its right-hand sides, nothing known.
template <class S, class T = typename S::Real>
void begin(const Model<S>& model, const T* B, int64_t k, int64_t first, int64_t starts, const BatchScratch<T>& own) {
    const int64_t r = model.rows.r;
    for (int64_t lane = 0; lane < LANES; ++lane) {
        const int64_t q = first + lane / starts < k ? first + lane / starts : k - 1;
        for (int64_t i = 0; i < r; ++i) own.z[i * LANES + lane] = -B[q * r + i];
        own.loss[lane] = own.linear[lane] = 0;
        own.best[lane] = std::numeric_limits<T>::infinity();
    }
}

// Random signs for column j of all corners, and what they add to residuals.
template <class S, class T = typename S::Real>
DCRA_INLINE void place(const Model<S>& model, int64_t j, const BatchScratch<T>& own) {
    Move<T> move;
    move.j = j;
    for (int64_t lane = 0; lane < LANES; ++lane) {
        move.dx[lane] = own.x[j * LANES + lane] = uniform(own.rng) < 0.5 ? T(1) : T(-1);
        own.linear[lane] += model.c[j] * move.dx[lane];
    }
    shift(model.A, move, own.z);
}

// The values of the corners.
template <class S, class T = typename S::Real> void evaluate(const Model<S>& model, const BatchScratch<T>& own) {
    const T none[LANES] = {};
    for (int64_t t = 0; t < model.rows.terms; ++t) {
        T* at = own.z + model.rows.start[t] * LANES;
        add_rare(Term<T>(model.rows, t), static_cast<const T*>(nullptr), none, at, own.loss);
    }
}

// Metropolis' rule: dx becomes 0 where the flip is refused, the losses follow. Returns whether any lane moves.
template <class T>
DCRA_INLINE bool decide(T* loss, T* linear, const T* fresh, T* x, T* dx, const T* draws, T heat, T c) {
    Pack<T> moved = {};
    for (int64_t i = 0; i < LANES; i += Wide<T>::width) {
        using W = Wide<T>;
        const Pack<T> old = W::load(loss + i), next = W::load(fresh + i), d = W::load(dx + i);
        const auto taken = next - old + c * d < heat * W::load(draws + i);
        const Pack<T> step = taken ? d : Pack<T>{};
        W::store(loss + i, taken ? next : old);
        W::store(linear + i, W::load(linear + i) + c * step);
        W::store(x + i, W::load(x + i) + step);
        W::store(dx + i, step);
        moved += magnitude(step);
    }
    return add_up<T>(moved) > 0;
}

// Where a lane has improved, remember its point.
template <class T> DCRA_INLINE void keep(const BatchScratch<T>& own) {
    T better[LANES];  // 1 or 0
    bool any = false;
    for (int64_t lane = 0; lane < LANES; ++lane) {
        const T value = own.loss[lane] + own.linear[lane];
        const bool found = value < own.best[lane];
        better[lane] = found;
        any |= found;
        own.best[lane] = found ? value : own.best[lane];
    }
    if (!any) return;
    for (int64_t j = 0; j < own.n; ++j) {
        const T* x = own.x + j * LANES;
        T* best_x = own.best_x + j * LANES;
        each<T>(LANES, [=, &better](auto lane, int64_t i) {
            const auto chosen = lane.load(better + i) > 0;
            lane.store(best_x + i, chosen ? lane.load(x + i) : lane.load(best_x + i));
        });
    }
}

// Columns from at.column on, at one temperature, until the pass or the work ends. Returns the work done.
template <class S, class T = typename S::Real>
int64_t anneal(const Model<S>& model, T heat, const BatchScratch<T>& own, At& at, int64_t most) {
    const int64_t n = model.A.n;
    int64_t work = 0;
    Move<T> moves[2];  // the last one, which z has not seen yet, and the next
    int64_t turn = 0;
    moves[0].j = -1;
    moves[1].j = at.last;
    for (int64_t lane = 0; lane < LANES; ++lane) moves[1].dx[lane] = own.last_dx[lane];
    int64_t j = at.column;
    for (; j < n && work < most; ++j) {
        T fresh[LANES], *x = own.x + j * LANES;
        Move<T>& next = moves[turn];
        next.j = j;
        for (int64_t lane = 0; lane < LANES; ++lane) next.dx[lane] = -(x[lane] + x[lane]);
        trial(model.A, model.rows, moves[1 - turn], next, own.z, own.loss, fresh);
        const T* draws = own.draws + below(own.rng, DRAWS);
        const bool moved = decide(own.loss, own.linear, fresh, x, next.dx, draws, heat, model.c[j]);
        work += LANES * length(model.A, j) * (moved ? 2 : 1);
        if (!moved) next.j = -1;
        turn = 1 - turn;
    }
    at.column = j;
    at.last = moves[1 - turn].j;
    for (int64_t lane = 0; lane < LANES; ++lane) own.last_dx[lane] = moves[1 - turn].dx[lane];
    return work;
}

// The best point of each right-hand side of a group into its rows of X (k, n) and F (k).
template <class T>
void fill(const BatchScratch<T>& own, int64_t group, int64_t starts, int64_t k, T* X, T* F) {
    const int64_t per_group = LANES / starts;
    for (int64_t lane = 0; lane < per_group * starts; ++lane) {
        const int64_t q = group * per_group + lane / starts;
        if (q < k && (lane % starts == 0 || own.best[lane] < F[q])) {
            F[q] = own.best[lane];
            for (int64_t j = 0; j < own.n; ++j) X[q * own.n + j] = own.best_x[j * LANES + lane];
        }
    }
}

// Anneal groups from own.at[0] to hi, until about `most` entries were touched; fill the rows of those that are done.
template <class S, class T = typename S::Real>
int64_t batch(const Model<S>& given, const T* B, int64_t hi, uint64_t seed, int64_t starts, const double* temperatures,
              T* X, T* F, const BatchScratch<T>& given_scratch, int64_t most, int64_t k, int64_t passes) {
    const Model<S> model = given;  // copies: nothing that the loop writes can change them
    const BatchScratch<T> own = given_scratch;
    const int64_t n = model.A.n;
    int64_t work = 0;
    if (k == 0) return 0;
    At at(own.at);
    while (at.group < hi && work < most) {
        if (at.pass == At::BEGIN) {
            reseed(own.rng, seed, uint64_t(at.group));
            for (int64_t i = 0; i < DRAWS + LANES; ++i) own.draws[i] = T(-std::log(1.0 - uniform(own.rng)));
            begin(model, B, k, at.group * (LANES / starts), starts, own);
            at.last = -1;
            at.next_pass();
        } else if (at.pass == At::PLACE) {
            for (; at.column < n && work < most; ++at.column) {
                place(model, at.column, own);
                work += LANES * length(model.A, at.column);
            }
            if (at.column < n) break;
            evaluate(model, own);
            at.next_pass();
        } else if (at.pass < passes) {
            work += anneal(model, T(temperatures[at.pass]), own, at, most - work);
            if (at.column < n) break;
            keep(own);
            at.next_pass();
        } else {
            fill(own, at.group, starts, k, X, F);
            ++at.group;
            at.pass = At::BEGIN;
        }
    }
    at.save(own.at);
    return work;
}

// End a group that was begun before its time: what it has come to counts, if it has corners at all.
template <class T>
void cut(int64_t starts, T* X, T* F, const BatchScratch<T>& own, int64_t k) {
    At at(own.at);
    if (at.pass < 0) return;
    keep(own);
    fill(own, at.group, starts, k, X, F);
}

}  // namespace dcra::batch

DCRA_STORES(batch, batch)
DCRA_REALS(batch, cut)
