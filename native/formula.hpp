// Clauses, and a point with what is known about its flips: the C side of `_kernels/formula.py`.
#pragma once

#include <cstdint>

namespace dcra {

// Clauses by literals 2 v + negated, and variables by entries 2 c + negated.
template <class I> struct Formula {
    const int64_t* ptr;
    const I* lit;
    const int64_t* occ_ptr;
    const I* occ;
    const double* cost;  // of a false soft clause
    const uint8_t* hard;
    int64_t m, literals, n;
};

struct Walk {
    uint8_t* x;
    int32_t* truths;    // true literals of a clause
    int32_t* critical;  // the exclusive or of their variables
    double* weight;
    double* change;    // what a flip adds to the weight of false clauses
    double* total;     // false hard clauses, cost of the false soft ones
    int32_t* broken;   // the false hard clauses
    int32_t* place;    // where in that list a clause is
    int64_t n, m;
};

}  // namespace dcra
