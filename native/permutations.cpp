// Branch and bound over permutations for sum_ij F_ij D_p(i)p(j): one facility after the other gets a place.
//
// cross[k, j, q] is what facility j at place q costs with itself and with the first k facilities. Each facility that is
// left costs at least the least of these over the free places, and those left cost at least rest[k] among each other.

#include <limits>

#include "export.hpp"
#include "places.hpp"

namespace dcra::permutations {

struct Branches {
    int64_t *p, *best;
    double *part, *cross;
    int64_t n;
};

DCRA_INLINE bool taken(uint64_t used, int64_t q) { return used >> q & 1; }

// cross[k + 1] from cross[k], facility k being at place q; what all later facilities cost at least with the first ones.
DCRA_INLINE double cross_over(const double* F, const double* D, const Branches& own, int64_t k, int64_t q, uint64_t used) {
    const int64_t n = own.n;
    const double *from = own.cross + k * n * n, *Dq = D + q * n;
    double *to = own.cross + (k + 1) * n * n, total = 0;
    for (int64_t j = k + 1; j < n; ++j) {
        const double out = F[k * n + j], in = F[j * n + k];
        double least = std::numeric_limits<double>::infinity();
        for (int64_t r = 0; r < n; ++r) {
            const double v = from[j * n + r] + out * Dq[r] + in * D[r * n + q];
            to[j * n + r] = v;
            if (!taken(used, r) && v < least) least = v;
        }
        total += least;
    }
    return total;
}

// All permutations with the first facility at place `first` that might cost less than *cost; at most `most` nodes.
//
// cursor is [depth, whether it has begun]; the depth is -1 at the end. cross[0] holds F_jj D_qq.
int64_t branch(const double* F, const double* D, const double* rest, int64_t first, double* cost, int64_t most,
               int64_t* cursor, const Branches& given, int64_t n) {
    const Branches own = given;
    int64_t *p = own.p, k = cursor[0], nodes = 0;
    if (n > 63 || !within(first, n) || !(-1 <= k && k < n) || !all_within(p, k < 0 ? 0 : k, n)) return OUTSIDE;
    uint64_t used = 0;
    for (int64_t i = 0; i < k; ++i) used |= uint64_t(1) << p[i];
    while (k >= 0 && nodes < most) {
        int64_t q = k ? p[k] + 1 : cursor[1] ? n : first;
        while (q < n && taken(used, q)) ++q;
        if (q >= n) {
            if (--k >= 0) used &= ~(uint64_t(1) << p[k]);
            continue;
        }
        p[k] = q;
        cursor[1] = 1;
        ++nodes;
        const double part = own.part[k] + own.cross[(k * n + k) * n + q];
        if (k + 1 == n) {
            if (part < *cost) {
                *cost = part;
                for (int64_t i = 0; i < n; ++i) own.best[i] = p[i];
            }
            continue;
        }
        const uint64_t now = used | uint64_t(1) << q;
        if (!(part + rest[k + 1] + cross_over(F, D, own, k, q, now) < *cost)) continue;
        own.part[++k] = part;
        used = now;
        p[k] = -1;
    }
    cursor[0] = k;
    return nodes;
}

}  // namespace dcra::permutations

DCRA_PLAIN(permutations, branch)
