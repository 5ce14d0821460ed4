// The arrays that loops see, as structures of pointers: the C side of `_kernels/store.py`.
//
// The face fills each once per object: the pointers in the order of the Python fields, then the sizes in the order in
// which the layout names them. An array that may be empty is a null pointer when it is.
#pragma once

#include <cstdint>

namespace dcra {

enum Kind : int64_t { TABLE = 0, LOGISTIC = 1, CAPPED = 2 };

// A by columns: column j is cols[j * r .. (j + 1) * r].
template <class T> struct Dense {
    using Real = T;
    const T* cols;
    int64_t n, r;
};

// A in CSC form with sorted row indices.
template <class T> struct Sparse {
    using Real = T;
    const int64_t* ptr;
    const int32_t* idx;
    const T* val;
    int64_t n, entries;
};

// Losses of the rows: term t owns rows start[t] .. start[t + 1] and the five numbers table[5 t ..].
template <class T> struct Rows {
    const int64_t* start;
    const int64_t* kind;
    const T* table;
    const T* weight;  // null when all are one
    const uint8_t* term;
    int64_t terms, r;
};

// sum_t f_t(Ax - b) + c'x; L[t * n + j] = sum of w_i A_ij^2 over the rows of term t.
template <class S> struct Model {
    using Store = S;
    using Real = typename S::Real;
    S A;
    Rows<Real> rows;
    const Real* c;
    const Real* L;
};

// What an annealing run knows about its flips.
struct Memory {
    double* rise;
    int64_t* stamp;
    int64_t* due;
    double* drift;
    int64_t* flips;
    int64_t* looks;
    int64_t n;
};

// What a tabu search knows: the best point, from which move on each spin may flip again, and the moves made.
template <class T> struct TabuMemory {
    T* best;
    int64_t* until;
    int64_t* clock;
    uint64_t* rng;
    int64_t n;
};

}  // namespace dcra
