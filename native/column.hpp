// The primitives all loops are written on, for either store.
//
// grad(A, j, z, rows)             entry j of A' g(z), g the smoothed gradient of the losses
// trial(A, j, dx, z, rows, loss)  total loss after x_j += dx; `loss` is the total now
// shift(A, j, dx, z)              z += dx A_j
// move_grad(A, j, dx, k, z, rows) shift(A, j, dx, z), then grad(A, k, z, rows), in one loop where that pays
// entry(A, j, p)                  row and value of the p-th stored entry of column j
// length(A, j)                    entries stored in column j: the unit of work
#pragma once

#include "dense.hpp"
#include "sparse.hpp"

namespace dcra {

template <class T> struct Entry {
    int64_t row;
    T value;
};

template <class T> DCRA_INLINE Entry<T> entry(const Dense<T>& A, int64_t j, int64_t p) {
    return {p, A.cols[j * A.r + p]};
}

template <class T> DCRA_INLINE Entry<T> entry(const Sparse<T>& A, int64_t j, int64_t p) {
    return {A.idx[A.ptr[j] + p], A.val[A.ptr[j] + p]};
}

}  // namespace dcra
