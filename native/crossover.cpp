// The best child of two points: where they differ, each connected part is taken from the better parent.
//
// Under counts, which parts to take is a knapsack: their weights are the changes of a count.

#include <limits>

#include "counts.hpp"
#include "export.hpp"
#include "quadratic.hpp"

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

// Scratch of `cross_within`: part and stack as above, and of each part what it adds, the group whose count it changes and
// by how much; then of the knapsack, the least sum for each change, and which items were taken for it.
struct Crossing {
    int64_t* part;
    int64_t* stack;
    double* rise;
    int64_t* home;
    int64_t* change;
    double* sums;
    uint8_t* took;
    int64_t n, cells;
};

constexpr int64_t NOWHERE = -1, EVERYWHERE = -2;  // no count changes, or more than one does: such parts are left

// Note which count a part changes. `changes` has a zero for every group, before and after.
template <class T>
void find_home(const T* s, const Counts& counts, const Crossing& own, int64_t size, int64_t name, int64_t* changes) {
    for (int64_t p = 0; p < size; ++p) changes[counts.group[own.stack[p]]] += s[own.stack[p]] > 0 ? -1 : 1;
    own.home[name] = NOWHERE;
    own.change[name] = 0;
    for (int64_t p = 0; p < size; ++p) {
        const int64_t group = counts.group[own.stack[p]];
        const bool bounded = counts.least[group] > 0 || counts.most[group] < counts.n;
        if (bounded && changes[group] != 0) {
            own.home[name] = own.home[name] == NOWHERE ? group : EVERYWHERE;
            own.change[name] = changes[group];
        }
        changes[group] = 0;
    }
}

// Mark by change = 0 those items of a group whose sum of rises is the least that keeps the count within its bounds.
inline void fill(const Crossing& own, int64_t items, int64_t low, int64_t high) {
    int64_t down = 0, up = 0;
    for (int64_t k = 0; k < items; ++k) {
        const int64_t change = own.change[own.stack[k]];
        (change < 0 ? down : up) += change;
    }
    const int64_t width = up - down + 1;
    if (items * width > own.cells) return;
    for (int64_t w = 0; w < width; ++w) own.sums[w] = std::numeric_limits<double>::infinity();
    own.sums[-down] = 0;
    for (int64_t k = 0; k < items; ++k) {
        const int64_t change = own.change[own.stack[k]], first = change > 0 ? width - 1 : 0, step = change > 0 ? -1 : 1;
        for (int64_t w = first; w >= 0 && w < width; w += step) {  // away from where the item would be taken twice
            const int64_t from = w - change;
            const bool better =
                from >= 0 && from < width && own.sums[from] + own.rise[own.stack[k]] < own.sums[w];
            own.took[k * width + w] = better;
            if (better) own.sums[w] = own.sums[from] + own.rise[own.stack[k]];
        }
    }
    int64_t at = -down;  // nothing taken
    for (int64_t w = 0; w < width; ++w)
        if (w + down >= low && w + down <= high && own.sums[w] < own.sums[at]) at = w;
    for (int64_t k = items - 1; k >= 0; --k) {
        if (!own.took[k * width + at]) continue;
        at -= own.change[own.stack[k]];
        own.change[own.stack[k]] = 0;
    }
}

// As `cross`, within the counts of s; the spins that were changed.
template <class S, class T = typename S::Real>
int64_t cross_within(const S& given, T* s, T* g, double* score, const T* other, double given_sign,
                     const Counts& given_counts, const Crossing& own, int64_t* changes) {
    const S C = given;
    const Counts counts = given_counts;
    const T sign = T(given_sign);
    int64_t parts = 0, changed = 0;
    for (int64_t j = 0; j < C.n; ++j) own.part[j] = s[j] == sign * other[j] ? C.n : -1;
    for (int64_t j = 0; j < C.n; ++j) {
        if (own.part[j] >= 0) continue;
        const int64_t size = grow(C, own.part, own.stack, j, parts);
        own.rise[parts] = rise_of(C, s, g, own.part, own.stack, size);
        find_home(s, counts, own, size, parts, changes);
        if (own.home[parts] == NOWHERE && !(own.rise[parts] < 0)) own.home[parts] = EVERYWHERE;
        ++parts;
    }
    for (int64_t group = 0; group < counts.groups; ++group) {
        int64_t items = 0;
        for (int64_t name = 0; name < parts; ++name)
            if (own.home[name] == group) own.stack[items++] = name;
        if (items > 0) fill(own, items, counts.least[group] - counts.ups[group], counts.most[group] - counts.ups[group]);
    }
    for (int64_t j = 0; j < C.n; ++j) {
        const int64_t name = own.part[j];
        if (name >= parts || own.home[name] == EVERYWHERE || own.change[name] != 0) continue;
        turn(C, s, g, score, j);
        moved(counts, s, j);
        ++changed;
    }
    return changed;
}

}  // namespace dcra::crossover

DCRA_STORES(crossover, cross)
DCRA_STORES(crossover, cross_within)
