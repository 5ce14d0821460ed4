// Clauses put in order: the literals of each by variable and without repetition, and no clause that is always true.
//
// A code is 2 v + 1 for the literal -v and 2 v for +v: those of one variable are neighbours where codes are sorted.

#include <algorithm>

#include "export.hpp"
#include "places.hpp"

namespace dcra::order {

constexpr int64_t SHORT = 32;        // codes up to which they are inserted one after the other
constexpr int64_t ALWAYS_TRUE = -1;  // in place of a number of literals

DCRA_INLINE int64_t code_of(int64_t literal) {
    const uint64_t v = uint64_t(literal);
    return int64_t(literal < 0 ? 2 * (0 - v) + 1 : 2 * v);
}

DCRA_INLINE void sort(int64_t* code, int64_t size) {
    if (size > SHORT) {
        std::sort(code, code + size);
        return;
    }
    for (int64_t i = 1; i < size; ++i) {
        const int64_t moved = code[i];
        int64_t at = i;
        for (; at > 0 && code[at - 1] > moved; --at) code[at] = code[at - 1];
        code[at] = moved;
    }
}

// Replace sorted codes by the literals that they stand for, each once; how many there are, or ALWAYS_TRUE.
DCRA_INLINE int64_t decode(int64_t* code, int64_t size) {
    int64_t count = 0, before = 0;
    for (int64_t i = 0; i < size; ++i) {
        const int64_t now = code[i], v = now >> 1;
        const bool beside = i > 0 && v == before >> 1;  // of the variable before it
        if (beside && now != before) return ALWAYS_TRUE;
        if (!beside) code[count++] = now & 1 ? -v : v;
        before = now;
    }
    return count;
}

// The literals of all clauses that are kept, where each of these ends, and which they are; the literals written.
//
// Codes are sorted where their literals will stand: what is written so far never reaches beyond what was read.
int64_t by_variable(const int64_t* ptr, const int64_t* literals, int64_t* ordered, int64_t* ends, bool* keep, int64_t m,
                    int64_t k) {
    if (ptr[0] != 0 || ptr[m] != k) return OUTSIDE;
    int64_t end = 0, kept = 0;
    ends[0] = 0;
    for (int64_t c = 0; c < m; ++c) {
        const int64_t first = ptr[c], last = ptr[c + 1];
        if (last < first || last > k) return OUTSIDE;
        int64_t* own = ordered + end;
        for (int64_t p = first; p < last; ++p) own[p - first] = code_of(literals[p]);
        sort(own, last - first);
        const int64_t count = decode(own, last - first);
        keep[c] = count != ALWAYS_TRUE;
        if (!keep[c]) continue;
        end += count;
        ends[++kept] = end;
    }
    return end;
}

}  // namespace dcra::order

DCRA_PLAIN(order, by_variable)
