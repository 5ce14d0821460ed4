// The SDP relaxation of z'Mz under triangle inequalities, by its low-rank factor and the prices of the triangles.
//
// For spins a X_ij + b X_ik + c X_jk >= -1, where abc = 1 and X = zz'. `kind` 0 has all signs 1; 1, 2 and 3 keep that
// of ij, ik and jk and turn the others.

#include <algorithm>

#include "export.hpp"
#include "mixing.hpp"
#include "places.hpp"

namespace dcra::triangles {

// Corners i < j < k and the kind of a triangle, as Python has them.
struct Corners {
    int32_t i, j, k, kind;
    double ij, ik, jk;  // signs

    explicit Corners(const int32_t* row)
        : i(row[0]), j(row[1]), k(row[2]), kind(row[3]), ij(kind == 2 || kind == 3 ? -1 : 1),
          ik(kind == 1 || kind == 3 ? -1 : 1), jk(kind == 1 || kind == 2 ? -1 : 1) {}

    bool within(int64_t p) const { return 0 <= i && i < j && j < k && k < p && 0 <= kind && kind < 4; }

    double violation(const double* X, int64_t p) const {
        return -1.0 - (ij * X[i * p + j] + ik * X[i * p + k] + jk * X[j * p + k]);
    }

    void subtract(double price, double* B, int64_t p) const {
        const double half = 0.5 * price;
        B[i * p + j] -= ij * half, B[j * p + i] -= ij * half;
        B[i * p + k] -= ik * half, B[k * p + i] -= ik * half;
        B[j * p + k] -= jk * half, B[k * p + j] -= jk * half;
    }
};

// X = VV'.
inline void products(const double* V, int64_t p, int64_t k, double* X) {
    for (int64_t i = 0; i < p; ++i) {
        const double* v = V + i * k;
        for (int64_t j = 0; j <= i; ++j) {
            const double* w = V + j * k;
            X[i * p + j] = X[j * p + i] =
                sum<double>(k, [=](auto lane, int64_t c) { return lane.load(v + c) * lane.load(w + c); });
        }
    }
}

// Passes over all rows: minimise <B, VV'>; y has the lengths of the rows of BV.
inline void mix(const double* B, double* V, double* y, double* pull, int64_t passes, int64_t p, int64_t k) {
    for (int64_t pass = 0; pass < passes; ++pass)
        for (int64_t i = 0; i < p; ++i) {
            const double* row = B + i * p;
            mixing::gather_all(p, [=](int64_t j) { return Entry<double>{j, row[j]}; }, V, k, pull);
            mixing::settle(V + i * k, pull, k, y + i);
        }
}

// Steps of the prices and the factor in turn: integral and proportional to what triangles are violated by.
inline int64_t press(const double* M, double* V, double* y, double* X, double* B, double* mean, const int32_t* corners,
                     double* base, double* price, double* usual, double* pull, double rate, double push, double share,
                     int64_t steps, int64_t p, int64_t k, int64_t t) {
    for (int64_t e = 0; e < t; ++e)
        if (!Corners(corners + 4 * e).within(p)) return OUTSIDE;
    for (int64_t step = 0; step < steps; ++step) {
        products(V, p, k, X);
        each<double>(p * p, [=](auto lane, int64_t i) {
            const auto old = lane.load(mean + i);
            lane.store(mean + i, old + share * (lane.load(X + i) - old));
            lane.store(B + i, lane.load(M + i));
        });
        for (int64_t e = 0; e < t; ++e) {
            const Corners own(corners + 4 * e);
            const double by = own.violation(X, p);
            base[e] = std::max(0.0, base[e] + rate * by);
            price[e] = std::max(0.0, base[e] + push * by);
            usual[e] += share * (price[e] - usual[e]);
            own.subtract(price[e], B, p);
        }
        mix(B, V, y, pull, 1, p, k);
    }
    return 0;
}

// B = M less the triangles at their prices.
inline int64_t priced(const double* M, const int32_t* corners, const double* price, double* B, int64_t p, int64_t t) {
    std::copy(M, M + p * p, B);
    for (int64_t e = 0; e < t; ++e) {
        const Corners own(corners + 4 * e);
        if (!own.within(p)) return OUTSIDE;
        own.subtract(price[e], B, p);
    }
    return 0;
}

// The triangles found so far; once there is no room for more, a heap with the least violation on top.
struct Found {
    int32_t* rows;
    double* by;
    int64_t room, count;

    void swap(int64_t a, int64_t b) {
        std::swap(by[a], by[b]);
        std::swap_ranges(rows + 4 * a, rows + 4 * a + 4, rows + 4 * b);
    }

    void sink(int64_t at) {
        for (int64_t child; (child = 2 * at + 1) < count; at = child) {
            if (child + 1 < count && by[child + 1] < by[child]) ++child;
            if (!(by[child] < by[at])) return;
            swap(at, child);
        }
    }

    void put(int64_t at, int64_t i, int64_t j, int64_t k, int kind, double violation) {
        const int32_t row[4] = {int32_t(i), int32_t(j), int32_t(k), kind};
        std::copy(row, row + 4, rows + 4 * at);
        by[at] = violation;
    }

    void take(int64_t i, int64_t j, int64_t k, int kind, double violation) {
        if (count < room) {
            put(count++, i, j, k, kind, violation);
            if (count == room)
                for (int64_t at = room / 2; at-- > 0;) sink(at);
        } else if (violation > by[0]) {
            put(0, i, j, k, kind, violation);
            sink(0);
        }
    }
};

// Triangles with first corner in first .. last that are violated by more than `least`; how many are known now.
inline int64_t separate(const double* X, int64_t first, int64_t last, double least, int32_t* rows, double* by,
                        int64_t count, int64_t p, int64_t room) {
    Found found{rows, by, room, count};
    for (int64_t i = first; i < last; ++i)
        for (int64_t j = i + 1; j < p; ++j) {
            const double a = X[i * p + j];
            for (int64_t k = j + 1; k < p; ++k) {
                const double b = X[i * p + k], c = X[j * p + k], side = b + c, across = b - c;
                const double low = std::min(a - std::abs(side), -a - std::abs(across));
                if (-1.0 - low <= least) continue;  // a-|b+c| is kind 0 or 1, -a-|b-c| kind 2 or 3
                const double values[4] = {-1 - (a + side), -1 - (a - side), -1 - (-a + across), -1 - (-a - across)};
                for (int kind = 0; kind < 4; ++kind)
                    if (values[kind] > least) found.take(i, j, k, kind, values[kind]);
            }
        }
    return found.count;
}

}  // namespace dcra::triangles

DCRA_PLAIN(triangles, mix)
DCRA_PLAIN(triangles, press)
DCRA_PLAIN(triangles, priced)
DCRA_PLAIN(triangles, separate)
