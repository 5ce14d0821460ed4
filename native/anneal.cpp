// Metropolis annealing by single flips that remembers what flips would cost.

#include <bit>

#include "decay.hpp"
#include "export.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::anneal {

constexpr double MARGIN = 3.0;    // a rise of this many temperatures is worth watching closely
constexpr double RECENT = 100.0;  // looks over which the drift is averaged

DCRA_INLINE void remember(const Memory& memory, int64_t j, double rise, double temperature, double caution) {
    const int64_t now = memory.flips[0];
    if (memory.stamp[j] >= 0) {
        const double step = rise - memory.rise[j];
        const double looks = double(++memory.looks[0]);
        const double fresh = step * step / double(now - memory.stamp[j]);
        memory.drift[0] += (fresh - memory.drift[0]) / (looks < RECENT ? looks : RECENT);
    }
    memory.rise[j] = rise;
    memory.stamp[j] = now;
    const double away = (rise - MARGIN * temperature) / caution;
    if (away > 0 && memory.looks[0] > memory.n && memory.drift[0] > 0)
        memory.due[j] = now + whole(away * away / memory.drift[0], 1e6);
}

template <class S, class T = typename S::Real>
DCRA_INLINE int64_t propose(const Model<S>& model, T* x, T* z, double* score, T* best_x, uint64_t* rng,
                            const Memory& memory, int64_t j, double temperature, double caution) {
    const int64_t size = length(model.A, j);
    const auto linear = [&] { return 2.0 * double(model.c[j]) * double(x[j]); };
    int64_t work = 0;
    if (memory.stamp[j] != memory.flips[0]) {
        const double loss = trial(model.A, j, -(x[j] + x[j]), z, model.rows, score[0]);
        remember(memory, j, loss - score[0] - linear(), temperature, caution);
        work = size;
    }
    const double rise = memory.rise[j];
    if (rise > 0) {
        if (rise > 40.0 * temperature || uniform(rng) >= decay(rise / temperature)) return work;
        // Only on the way up: a descent would copy x at every flip.
        if (score[0] + score[1] < score[2]) keep(x, best_x, model.A.n, score);
    }
    commit(model, x, z, score, j, score[0] + rise + linear());
    ++memory.flips[0];
    memory.rise[j] = -rise;
    memory.stamp[j] = memory.flips[0];
    return work + size;
}

constexpr int64_t ROW = 64;  // columns whose turns are found at a time

// Bit k is set where column first + k is due.
DCRA_INLINE uint64_t due_from(const Memory& memory, int64_t first) {
    constexpr int W = Wide<int64_t>::width;
    const int64_t left = memory.n - first, size = left < ROW ? left : ROW, now = memory.flips[0];
    const int64_t* due = memory.due + first;
    uint64_t bits = 0;
    int64_t k = 0;
    for (; k + W <= size; k += W)
        bits |= uint64_t(marks(Wide<int64_t>::load(due + k) <= splat<Pack<int64_t>>(now))) << k;
    for (; k < size; ++k) bits |= uint64_t(due[k] <= now) << k;
    return bits;
}

// propose(j) for each column that is due when its turn comes: only a flip can make others so.
template <class F> DCRA_INLINE void each_due(const Memory& memory, const F& propose) {
    for (int64_t first = 0; first < memory.n; first += ROW) {
        uint64_t due = due_from(memory, first);
        while (due != 0) {
            const int k = std::countr_zero(due);
            const int64_t flips = memory.flips[0];
            propose(first + k);
            if (memory.flips[0] != flips) due = due_from(memory, first);
            due &= ~uint64_t(1) << k;  // what comes after k
        }
    }
}

// One pass over the columns at each of `temperatures`; best_x keeps the best point, score[2] its value.
template <class S, class T = typename S::Real>
int64_t anneal(const Model<S>& given, T* x, T* z, double* score, T* best_x, uint64_t* rng, const double* temperatures,
               const Memory& given_memory, double caution, int64_t passes) {
    const Model<S> model = given;  // copies: nothing that the loop writes can change them
    const Memory memory = given_memory;
    int64_t work = 0;
    for (int64_t p = 0; p < passes; ++p) {
        each_due(memory, [&](int64_t j) {
            work += propose(model, x, z, score, best_x, rng, memory, j, temperatures[p], caution);
        });
        if (score[0] + score[1] < score[2]) keep(x, best_x, model.A.n, score);
    }
    return work;
}

}  // namespace dcra::anneal

DCRA_STORES(anneal, anneal)
