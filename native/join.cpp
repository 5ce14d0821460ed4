// Sums of four lists that hit a target: the inner loop of meeting in the middle.
//
// A list is its keys and their residues h modulo M, sorted by h; the keys of residue v stand at start[v] .. start[v+1].
// A set of keys is kept as bits, in few enough words to stay in the cache.

#include <bit>

#include "export.hpp"
#include "lanes.hpp"

namespace dcra::join {

// The residues of one list of a pair and the starts of the other: with c given, each h has one run of the other list.
struct Lists {
    const uint64_t* key1;
    const int64_t* h1;
    const uint64_t* key2;
    const int64_t* start2;
    const uint64_t* key3;
    const int64_t* h3;
    const uint64_t* key4;
    const int64_t* start4;
    int64_t size1, size2, modulus, size3, size4;
};

struct MeetScratch {
    uint64_t *bits, *few, *rest;
    int64_t words, capacity;
};

// Two lists of which the sums of one residue are wanted.
struct Pair {
    const uint64_t* key;
    const int64_t* h;
    int64_t size;
    const uint64_t* other;
    const int64_t* start;
    int64_t modulus;
};

// visit(key, run, end) for the keys of the first list and the run of the other that has the residue c with each.
template <class F> DCRA_INLINE void each_run(const Pair& pair, int64_t c, const F& visit) {
    for (int64_t a = 0; a < pair.size; ++a) {
        int64_t v = c - pair.h[a];
        v += v < 0 ? pair.modulus : 0;
        visit(pair.key[a], pair.other + pair.start[v], pair.other + pair.start[v + 1]);
    }
}

DCRA_INLINE void set(uint64_t* bits, uint64_t at) { bits[at >> 6] |= uint64_t(1) << (at & 63); }

DCRA_INLINE bool is_set(const uint64_t* bits, uint64_t at) { return bits[at >> 6] >> (at & 63) & 1; }

// Set the bits of all sums of residue c; how many there are.
DCRA_INLINE int64_t mark(const Pair& pair, int64_t c, uint64_t* bits, int shift) {
    int64_t count = 0;
    each_run(pair, c, [&](uint64_t key, const uint64_t* run, const uint64_t* end) {
        count += end - run;
        for (; run < end; ++run) set(bits, (key + *run) >> shift);
    });
    return count;
}

// Keep what sums of residue c lack to the target where its bit is set; how many there are.
DCRA_INLINE int64_t sift(const Pair& pair, int64_t c, uint64_t target, const MeetScratch& own, int shift) {
    int64_t count = 0;
    each_run(pair, c, [&](uint64_t key, const uint64_t* run, const uint64_t* end) {
        for (; run < end; ++run) {
            const uint64_t lack = target - key - *run;
            if (!is_set(own.bits, lack >> shift)) continue;
            if (count < own.capacity) own.rest[count] = lack;
            ++count;
        }
    });
    return count;
}

// Whether a sum of residue c is equal to one of the first `count` keys in `rest`.
DCRA_INLINE bool any_left(const Pair& pair, int64_t c, const MeetScratch& own, int shift, int64_t count) {
    bool found = false;
    for (int64_t i = 0; i < count; ++i) set(own.few, own.rest[i] >> shift);
    each_run(pair, c, [&](uint64_t key, const uint64_t* run, const uint64_t* end) {
        for (; run < end && !found; ++run) {
            const uint64_t sum = key + *run;
            if (!is_set(own.few, sum >> shift)) continue;
            uint64_t same = 0;  // as wide as the keys: many are compared at once
            for (int64_t i = 0; i < count; ++i) same += own.rest[i] == sum;
            found = same > 0;
        }
    });
    return found;
}

// For each c in lo .. hi, whether some a + b + p + q = target (mod 2^64) can have h_a + h_b = c (mod M).
int64_t meet(const Lists& lists, uint64_t target, int64_t residue, int64_t lo, int64_t hi, const MeetScratch& given,
             bool* hits, int64_t) {
    const MeetScratch own = given;  // a copy: nothing that the loop writes can change it
    const Pair left{lists.key1, lists.h1, lists.size1, lists.key2, lists.start2, lists.modulus};
    const Pair right{lists.key3, lists.h3, lists.size3, lists.key4, lists.start4, lists.modulus};
    const int shift = 58 - std::countr_zero(uint64_t(own.words));
    int64_t work = 0;
    for (int64_t c = lo; c < hi; ++c) {
        for (int64_t i = 0; i < own.words; ++i) own.bits[i] = 0;
        work += mark(left, c, own.bits, shift);
        const int64_t count = sift(right, residue >= c ? residue - c : residue - c + lists.modulus, target, own, shift);
        const bool all_kept = count <= own.capacity;
        hits[c - lo] = !all_kept || any_left(left, c, own, shift, count);
        for (int64_t i = 0, kept = all_kept ? count : own.capacity; i < kept; ++i)
            own.few[own.rest[i] >> (shift + 6)] = 0;
    }
    return 3 * work;
}

}  // namespace dcra::join

DCRA_PLAIN(join, meet)
