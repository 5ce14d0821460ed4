// What Python can call: one exported constant per instance, the address of that function.
//
// The name is FILE_FUNCTION_VARIANT; `_kernels/face.py` finds it by the stores and dtypes of the arguments. Functions
// take references to structures, pointers, int64_t and double, and return void, int64_t or double. Each is in the
// namespace dcra::FILE.
//
// DCRA_STORES(file, function)     function<Store>: Dense and Sparse of float and double: dense32 ... sparse64
// DCRA_TWO_STORES(file, function) function<Store, Store2>: all pairs, dense64_sparse32
// DCRA_REALS(file, function)      function<T>: real32, real64
// DCRA_INDICES(file, function)    function<I>, I the type of places: index32, index64
// DCRA_PLAIN(file, function)      one function without variants
#pragma once

#include "store.hpp"

#if defined(_WIN32)
#define DCRA_API __declspec(dllexport)
#else
#define DCRA_API __attribute__((visibility("default")))
#endif

#define DCRA_ENTRY(symbol, ...)                   \
    extern "C" {                                  \
    DCRA_API extern void (*const symbol)();       \
    void (*const symbol)() = (void (*)())__VA_ARGS__; \
    }

#define DCRA_PLAIN(file, function) DCRA_ENTRY(file##_##function, &dcra::file::function)

#define DCRA_REALS(file, function)                                     \
    DCRA_ENTRY(file##_##function##_real32, &dcra::file::function<float>) \
    DCRA_ENTRY(file##_##function##_real64, &dcra::file::function<double>)

#define DCRA_INDICES(file, function)                                      \
    DCRA_ENTRY(file##_##function##_index32, &dcra::file::function<int32_t>) \
    DCRA_ENTRY(file##_##function##_index64, &dcra::file::function<int64_t>)

#define DCRA_STORES(file, function)                                                      \
    DCRA_ENTRY(file##_##function##_dense32, &dcra::file::function<dcra::Dense<float>>)   \
    DCRA_ENTRY(file##_##function##_dense64, &dcra::file::function<dcra::Dense<double>>)  \
    DCRA_ENTRY(file##_##function##_sparse32, &dcra::file::function<dcra::Sparse<float>>) \
    DCRA_ENTRY(file##_##function##_sparse64, &dcra::file::function<dcra::Sparse<double>>)

#define DCRA_WITH_STORE(file, function, name, ...)                                                            \
    DCRA_ENTRY(file##_##function##_##name##_dense32, &dcra::file::function<__VA_ARGS__, dcra::Dense<float>>)   \
    DCRA_ENTRY(file##_##function##_##name##_dense64, &dcra::file::function<__VA_ARGS__, dcra::Dense<double>>)  \
    DCRA_ENTRY(file##_##function##_##name##_sparse32, &dcra::file::function<__VA_ARGS__, dcra::Sparse<float>>) \
    DCRA_ENTRY(file##_##function##_##name##_sparse64, &dcra::file::function<__VA_ARGS__, dcra::Sparse<double>>)

#define DCRA_TWO_STORES(file, function)                               \
    DCRA_WITH_STORE(file, function, dense32, dcra::Dense<float>)     \
    DCRA_WITH_STORE(file, function, dense64, dcra::Dense<double>)    \
    DCRA_WITH_STORE(file, function, sparse32, dcra::Sparse<float>)   \
    DCRA_WITH_STORE(file, function, sparse64, dcra::Sparse<double>)
