// The searches of quadratic.cpp with losses beside: f(As - b) + c's + s'Js, by residual z and local fields g.
//
// Flipping s_j changes the losses by what a trial along column j finds, and the rest by -s_j g_j, as there.
// score = [value now, value of the best point, losses now]. A and the couplings C may be of different types.

#include <bit>
#include <limits>

#include "quadratic.hpp"
#include "export.hpp"
#include "rng.hpp"

namespace dcra::mixed {

constexpr int64_t BLOCK = 1024;

template <class S, class T = typename S::Real>
DCRA_INLINE double loss_after(const Model<S>& model, const T* s, const T* z, const double* score, int64_t j) {
    return trial(model.A, j, -(s[j] + s[j]), z, model.rows, score[2]);
}

// Flip s_j; `loss` is what the losses will then be.
template <class S, class C, class T = typename S::Real>
DCRA_INLINE void turn(const Model<S>& model, const C& couplings, T* s, T* z, T* g, double* score, int64_t j,
                      double loss) {
    score[0] += loss - score[2] - double(s[j] * g[j]);
    score[2] = loss;
    s[j] = -s[j];
    shift(model.A, j, s[j] + s[j], z);
    shift(couplings, j, s[j], g);
}

template <class S, class F, class T = typename S::Real>
DCRA_INLINE void measure(const Model<S>& model, const F* field, const T* s, const T* z, const T* g, double* score) {
    double total = score[2] = loss_at(model.rows, z);
    for (int64_t j = 0; j < model.A.n; ++j) total += 0.25 * double(s[j]) * (double(g[j]) + double(field[j]));
    score[0] = score[1] = total;
}

// Set score for the point s with residual z and fields g.
template <class S, class T = typename S::Real>
void value(const Model<S>& model, const T* field, const T* s, const T* z, const T* g, double* score) {
    measure(model, field, s, z, g, score);
}

// Flip whatever improves by more than `tiny`, cyclically along `order`, for at most `trials` trials.
template <class S, class C, class T = typename S::Real>
int64_t descend(const Model<S>& given, const C& given_couplings, T* s, T* z, T* g, double* score, const int64_t* order,
                int64_t* cursor, double tiny, int64_t trials, int64_t size) {
    const Model<S> model = given;  // copies: nothing that the loop writes can change them
    const C couplings = given_couplings;
    int64_t work = 0;
    if (!sound(cursor, size)) return OUTSIDE;
    for (int64_t i = 0; i < trials && cursor[1] < size; ++i) {
        const int64_t j = order[advance(cursor, size)];
        if (!within(j, model.A.n)) return OUTSIDE;
        const double loss = loss_after(model, s, z, score, j);
        work += length(model.A, j);
        if (score[2] - loss + double(s[j] * g[j]) > tiny) {
            turn(model, couplings, s, z, g, score, j, loss);
            cursor[1] = 0;
            work += length(model.A, j) + length(couplings, j);
        }
    }
    score[1] = score[0];
    return work;
}

// Flip coupled pairs that improve together; one trial is one first member with all its neighbours.
template <class S, class C, class T = typename S::Real>
int64_t descend_pairs(const Model<S>& given, const C& given_couplings, T* s, T* z, T* g, double* score,
                      int64_t* cursor, double tiny, int64_t trials) {
    const Model<S> model = given;
    const C couplings = given_couplings;
    int64_t work = 0;
    if (!sound(cursor, model.A.n)) return OUTSIDE;
    for (int64_t t = 0; t < trials && cursor[1] < model.A.n; ++t) {
        const int64_t i = advance(cursor, model.A.n);
        const double before = score[0];
        turn(model, couplings, s, z, g, score, i, loss_after(model, s, z, score, i));
        double best = tiny, best_loss = 0;
        int64_t partner = -1;
        for (int64_t p = 0; p < length(couplings, i); ++p) {
            const int64_t j = entry(couplings, i, p).row;
            const double loss = loss_after(model, s, z, score, j);
            const double gain = before - score[0] + score[2] - loss + double(s[j] * g[j]);
            if (j != i && gain > best) best = gain, partner = j, best_loss = loss;
            work += length(model.A, j);
        }
        if (partner >= 0) {
            turn(model, couplings, s, z, g, score, partner, best_loss);
            cursor[1] = 0;
        } else {
            turn(model, couplings, s, z, g, score, i, loss_after(model, s, z, score, i));
        }
    }
    score[1] = score[0];
    return work;
}

// One pass over the spins at each of `temperatures`; best_s keeps the best point.
template <class S, class C, class T = typename S::Real>
int64_t anneal(const Model<S>& given, const C& given_couplings, T* s, T* z, T* g, double* score, T* best_s,
               uint64_t* rng, const T* temperatures, const T* thresholds, int64_t passes, int64_t size) {
    const Model<S> model = given;
    const C couplings = given_couplings;
    const int64_t n = model.A.n, mask = size - 1;
    int64_t work = 0;
    for (int64_t p = 0; p < passes; ++p) {
        const int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t j = 0; j < n; ++j) {
            const double loss = loss_after(model, s, z, score, j);
            work += length(model.A, j);
            if (loss - score[2] - double(s[j] * g[j]) < double(temperatures[p] * thresholds[(place + j) & mask])) {
                turn(model, couplings, s, z, g, score, j, loss);
                work += length(model.A, j) + length(couplings, j);
            }
        }
        if (score[0] < score[1]) keep_spins(s, best_s, n, score);
    }
    return work;
}

// Make `moves` best flips that are not tabu, or that beat the best point; every move looks at all columns of A.
template <class S, class C, class T = typename S::Real>
int64_t tabu(const Model<S>& given, const C& given_couplings, T* s, T* z, T* g, double* score,
             const TabuMemory<T>& given_memory, int64_t moves, int64_t tenure, int64_t spread) {
    const Model<S> model = given;
    const C couplings = given_couplings;
    const TabuMemory<T> memory = given_memory;
    const int64_t n = model.A.n;
    int64_t work = 0;
    for (int64_t i = 0; i < moves; ++i) {
        double chosen_loss = 0, chosen_rise = std::numeric_limits<double>::infinity();
        const double least = score[0] < score[1] ? score[0] : score[1];  // kept or not: pauses must not show
        int64_t chosen = -1;
        for (int64_t j = 0; j < n; ++j) {
            const double loss = loss_after(model, s, z, score, j), rise = loss - score[2] - double(s[j] * g[j]);
            work += length(model.A, j);
            if (rise < chosen_rise && (memory.until[j] <= memory.clock[0] || score[0] + rise < least))
                chosen = j, chosen_loss = loss, chosen_rise = rise;
        }
        ++memory.clock[0];
        if (chosen < 0) continue;
        if (chosen_rise >= 0 && score[0] < score[1]) keep_spins(s, memory.best, n, score);
        memory.until[chosen] = memory.clock[0] + tenure + below(memory.rng, spread);
        turn(model, couplings, s, z, g, score, chosen, chosen_loss);
    }
    if (score[0] < score[1]) keep_spins(s, memory.best, n, score);
    return work;
}

// The point at position c of the Gray sequence, its residual, fields and score.
template <class S, class C, class T = typename S::Real>
void place(const Model<S>& model, const T* b, const C& couplings, const typename C::Real* field, int64_t c, T* s, T* z,
           T* g, double* score) {
    for (int64_t i = 0; i < model.rows.r; ++i) z[i] = -b[i];
    for (int64_t j = 0; j < model.A.n; ++j) {
        s[j] = (c ^ (c >> 1)) >> j & 1 ? T(-1) : T(1);
        shift(model.A, j, s[j], z);
    }
    fields_at(couplings, field, s, g);
    measure(model, field, s, z, g, score);
}

// Best value over positions lo .. hi of the Gray sequence, in *code its lowest position, and in least[] the best of each
// block that the range touches.
template <class S, class C, class T = typename S::Real>
double gray(const Model<S>& model, const T* b, const C& couplings, const typename C::Real* field, int64_t lo,
            int64_t hi, T* s, T* z, T* g, double* score, int64_t* code, double* least, int64_t) {
    double best = std::numeric_limits<double>::infinity();
    *code = lo;
    for (int64_t base = lo - lo % BLOCK; base < hi; base += BLOCK, ++least) {
        place(model, b, couplings, field, base, s, z, g, score);
        *least = std::numeric_limits<double>::infinity();
        for (int64_t c = base; c < base + BLOCK && c < hi; ++c) {
            if (c > base) {
                const int64_t j = std::countr_zero(uint64_t(c));
                turn(model, couplings, s, z, g, score, j, loss_after(model, s, z, score, j));
            }
            if (c < lo) continue;
            if (score[0] < *least) *least = score[0];
            if (*least < best) best = *least, *code = c;
        }
    }
    return best;
}

}  // namespace dcra::mixed

// Losses beside couplings are searched in float64; the couplings are of either type.
#define DCRA_MIXED(function)                                     \
    DCRA_WITH_STORE(mixed, function, dense64, dcra::Dense<double>) \
    DCRA_WITH_STORE(mixed, function, sparse64, dcra::Sparse<double>)

DCRA_STORES(mixed, value)
DCRA_MIXED(descend)
DCRA_MIXED(descend_pairs)
DCRA_MIXED(anneal)
DCRA_MIXED(tabu)
DCRA_MIXED(gray)
