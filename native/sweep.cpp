// Coordinate sweeps on the box form  env(Ax - b) + c'x + rho sum(t_j + shape t_j^2 / 2), t_j = 1 - x_j^2.

#include <cmath>

#include "export.hpp"
#include "rng.hpp"
#include "state.hpp"

namespace dcra::sweep {

template <class S> DCRA_INLINE double curvature(const Model<S>& model, int64_t j) {
    double total = 1e-30;
    for (int64_t t = 0; t < model.rows.terms; ++t)
        total += double(model.rows.table[5 * t]) * double(model.L[t * model.A.n + j]);
    return total;
}

// Small against the curvature; steering does the rest.
template <class S> double first_penalty(const Model<S>& model, const int64_t* columns, int64_t m) {
    double total = 0;
    for (int64_t p = 0; p < m; ++p) total += curvature(model, columns[p]);
    return total / (64.0 * double(m));
}

template <class T> double polarisation(const T* x, const int64_t* columns, int64_t m) {
    double total = 0;
    for (int64_t p = 0; p < m; ++p) total += double(x[columns[p]]) * double(x[columns[p]]);
    return total / double(m);
}

// How columns move and how the penalty is steered, in the order of `engines.rule.Rule`.
struct Rule {
    double kappa, momentum, shape, power, least, patience;
};

// Minimise the majoriser in x_j, with momentum; what x_j changed by.
template <class S, class T = typename S::Real>
DCRA_INLINE T step(const Model<S>& model, T* x, int64_t* rest, int64_t j, T g, double rho, const Rule& rule) {
    T* before = x + model.A.n;
    const T old = x[j];
    const double inverse = 1.0 / (rule.kappa * curvature(model, j)), now = double(old);
    const double pull = 2.0 * rho * now * (1.0 + rule.shape * (1.0 - now * now));
    const double slope = double(g) + double(model.c[j]) - pull;
    const double target = now - slope * inverse + rule.momentum * (now - double(before[j]));
    before[j] = old;
    x[j] = T(clip(target, -1.0, 1.0));
    if (x[j] == old && magnitude(old) == 1) rest[j] = whole(rule.patience * (magnitude(target) - 1.0), 64.0);
    return x[j] - old;
}

// Every column once. The move of one and the gradient of the next are one loop over the rows.
template <class S, class T = typename S::Real>
int64_t pass(const Model<S>& model, T* x, T* z, const int64_t* columns, int64_t m, int64_t* blocks, int64_t k,
             int64_t* rest, uint64_t* rng, double rho, const Rule& rule) {
    int64_t work = 0, moved = -1;  // the column whose move z has not seen yet
    const int64_t width = (m + k - 1) / k;
    T dx = 0;
    shuffle(rng, blocks, k);
    for (int64_t b = 0; b < k; ++b) {
        const int64_t first = blocks[b] * width, last = first + width < m ? first + width : m;
        for (int64_t p = first; p < last; ++p) {
            const int64_t j = columns[p];
            if (rest[j] > 0) {
                --rest[j];
                continue;
            }
            T g;
            if (moved >= 0) {
                g = move_grad(model.A, moved, dx, j, z, model.rows);
                work += length(model.A, moved);
            } else {
                g = grad(model.A, j, z, model.rows);
            }
            work += length(model.A, j);
            dx = step(model, x, rest, j, g, rho, rule);
            moved = dx != 0 ? j : -1;
        }
    }
    if (moved >= 0) {
        shift(model.A, moved, dx, z);
        work += length(model.A, moved);
    }
    return work;
}

// Run sweeps first .. last, of `total` that take x from the inside of the box to its corners; x is followed by where each
// of its entries was before its last step.
template <class S, class T = typename S::Real>
int64_t sweep(const Model<S>& model, T* x, T* z, const int64_t* columns, int64_t* blocks, int64_t* rest, uint64_t* rng,
              double* rho, int64_t first, int64_t last, int64_t total, const double* numbers, int64_t m, int64_t k) {
    int64_t work = 0;
    if (!all_within(columns, m, model.A.n) || !all_within(blocks, k, k)) return OUTSIDE;
    if (k == 0) return 0;
    const Rule rule{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    const double unit = total > 0 ? first_penalty(model, columns, m) : 0.0;
    if (total > 0 && rho[0] == 0) rho[0] = unit;
    for (int64_t s = first; s < last; ++s) {
        if (total > 0 && s > 0 && polarisation(x, columns, m) == 1.0) break;
        work += pass(model, x, z, columns, m, blocks, k, rest, rng, rho[0], rule);
        if (total > 0) {
            const double wanted = std::pow((double(s) + 1.0) / double(total), rule.power);
            rho[0] *= std::exp(wanted - polarisation(x, columns, m));
            if (rho[0] < rule.least * unit) rho[0] = rule.least * unit;
        }
    }
    return work;
}

// Round x to signs, sign(0) = +1, keeping z = Ax - b.
template <class S, class T = typename S::Real> void round_to_spins(const Model<S>& model, T* x, T* z) {
    for (int64_t j = 0; j < model.A.n; ++j) {
        const T old = x[j];
        x[j] = old >= 0 ? T(1) : T(-1);
        if (x[j] != old) shift(model.A, j, x[j] - old, z);
    }
}

}  // namespace dcra::sweep

DCRA_STORES(sweep, sweep)
DCRA_STORES(sweep, round_to_spins)
