// Exchanges on a board: rows sit in columns, one each, and the spin of a row and its column is up.
//
// board[i, k] is the spin of row i in column k, NOBODY where that needs none, SHUT where it may not be; at[i] is the
// column of row i. When rows i and j exchange their columns, up to four spins flip at once. A set F of flips raises
// the objective by the sum over F of -s_k g_k plus, for every pair of F, C_kl s_k s_l, which single flips count twice.

#include "export.hpp"
#include "places.hpp"
#include "quadratic_pairs.hpp"

namespace dcra::exchange {

constexpr int64_t NOBODY = -1, SHUT = -2;

struct Flips {
    int64_t who[4];
    int64_t count;
};

// The flips by which rows i and j exchange their columns; count is -1 where they may not.
DCRA_INLINE Flips flips_of(const int64_t* board, const int64_t* at, int64_t m, int64_t i, int64_t j) {
    const int64_t cells[4] = {board[i * m + at[i]], board[j * m + at[j]], board[i * m + at[j]], board[j * m + at[i]]};
    Flips flips{{0, 0, 0, 0}, 0};
    if (cells[2] == SHUT || cells[3] == SHUT) return {{0, 0, 0, 0}, -1};
    for (const int64_t cell : cells)
        if (cell >= 0) flips.who[flips.count++] = cell;
    return flips;
}

template <class S, class T> DCRA_INLINE double rise_of(const S& C, const T* s, const T* g, const Flips& flips) {
    double rise = 0;
    for (int64_t a = 0; a < flips.count; ++a) rise -= double(s[flips.who[a]]) * double(g[flips.who[a]]);
    for (int64_t a = 0; a < flips.count; ++a)
        for (int64_t b = a + 1; b < flips.count; ++b) {
            const int64_t k = flips.who[a], l = flips.who[b];
            rise += double(s[k]) * double(s[l]) * coupling(C, k, l);
        }
    return rise;
}

template <class S, class T>
int64_t make(const S& C, T* s, T* g, double* score, int64_t* at, int64_t i, int64_t j, const Flips& flips) {
    int64_t work = 0;
    for (int64_t a = 0; a < flips.count; ++a) {
        turn(C, s, g, score, flips.who[a]);
        work += length(C, flips.who[a]);
    }
    const int64_t column = at[i];
    at[i] = at[j];
    at[j] = column;
    return work;
}

// Whether all of a board are spins or marks, and rows sit in columns.
inline bool placed(const int64_t* board, const int64_t* at, int64_t m, int64_t n) {
    for (int64_t p = 0; p < m * m; ++p)
        if (board[p] < SHUT || board[p] >= n) return false;
    return all_within(at, m, m);
}

// All pairs of rows at each of `temperatures`; best_s keeps the best point.
template <class S, class T = typename S::Real>
int64_t anneal_exchanges(const S& C, T* s, T* g, double* score, T* best_s, uint64_t* rng, const T* temperatures,
                         const T* thresholds, const int64_t* board, int64_t* at, int64_t passes, int64_t draws,
                         int64_t m) {
    if (!placed(board, at, m, C.n)) return OUTSIDE;
    const int64_t mask = draws - 1;
    int64_t work = passes * m * m;
    for (int64_t p = 0; p < passes; ++p) {
        int64_t place = int64_t(draw(rng)) & mask;
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = i + 1; j < m; ++j) {
                const double most = double(temperatures[p] * thresholds[++place & mask]);
                const Flips flips = flips_of(board, at, m, i, j);
                if (flips.count > 0 && rise_of(C, s, g, flips) < most)
                    work += make(C, s, g, score, at, i, j, flips);
                else if (flips.count == 0)
                    make(C, s, g, score, at, i, j, flips);  // two that are nobody's
            }
        if (score[0] < score[1]) keep_spins(s, best_s, C.n, score);
    }
    return work;
}

// Make exchanges that improve by more than `tiny`; one trial is one row with its best partner.
template <class S, class T = typename S::Real>
int64_t descend_exchanges(const S& C, T* s, T* g, double* score, int64_t* cursor, double tiny, int64_t trials,
                          const int64_t* board, int64_t* at, int64_t m) {
    if (!placed(board, at, m, C.n) || !sound(cursor, m)) return OUTSIDE;
    int64_t work = 0;
    for (int64_t t = 0; t < trials && cursor[1] < m; ++t) {
        const int64_t i = advance(cursor, m);
        double least = -tiny;
        int64_t with = i;
        for (int64_t j = 0; j < m; ++j) {
            const Flips flips = flips_of(board, at, m, i, j);
            if (j == i || flips.count <= 0) continue;
            const double rise = rise_of(C, s, g, flips);
            if (rise < least) least = rise, with = j;
        }
        work += m;
        if (with == i) continue;
        cursor[1] = 0;
        work += make(C, s, g, score, at, i, with, flips_of(board, at, m, i, with));
    }
    score[1] = score[0];
    return work;
}

}  // namespace dcra::exchange

DCRA_STORES(exchange, anneal_exchanges)
DCRA_STORES(exchange, descend_exchanges)
