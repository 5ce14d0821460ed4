// A device in one thread of the host: clusters of blocks one after another, their threads as fibers that take turns.
//
// What the kernels' common.cuh has in assembly is here in C++. Threads run until they wait for others: at a shuffle,
// a vote, a matrix product, a barrier. Which warp goes on then is drawn from a seed, bulk copies arrive when it pleases
// the same generator, and shared memory holds garbage at first: kernels that rely on luck give different answers
// under different seeds. What is written behind the end of shared memory is found after each cluster.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define CLUSTER
#define __align__(n) __attribute__((aligned(n)))

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) uint2 { u32 x, y; };
struct alignas(16) uint4 { u32 x, y, z, w; };
struct alignas(8) int2 { int x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(u32 x, u32 y) { return {x, y}; }

#ifndef PARTS
#define PARTS 1
#endif
constexpr size_t SHARED = 256 << 10;
alignas(128) u8 all_memory[PARTS * SHARED];  // of the blocks of a cluster, by rank

// ---- fibers

extern "C" void switch_fiber(void** from, void* to);
asm(R"(
.text
.globl switch_fiber
.hidden switch_fiber
.type switch_fiber,@function
switch_fiber:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size switch_fiber,.-switch_fiber
)");

struct Three { u32 x; };
struct Exchange { u32 in[10], out[4]; };

struct Warp {
  u64 arrived = 0;
  int kind = 0;
  Exchange lanes[2][32];
};

struct Fiber {
  std::vector<u8> stack;
  void* at = nullptr;
  Warp* warp = nullptr;
  u32 thread = 0, rank = 0;
  u64 met = 0;     // exchanges within the warp
  u64 synced = 0, gathered = 0;  // barriers of the block, of the cluster
  bool over = false;
};

struct Barrier { int arrivals = 0, waiting = 0; long bytes = 0; u32 phase = 0; };
struct Copy { u32 to; const void* from; u32 bytes, barrier; };

struct Cluster {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<Barrier> barriers{PARTS * SHARED / 8};
  std::vector<Copy> copies;
  std::function<void()> body;
  u64 synced[PARTS], gathered = 0, moves = 0;
  u32 first = 0;
  void* home = nullptr;
  Fiber* self = nullptr;
  const char* fault = nullptr;
};

static Cluster block;
static Three blockDim, gridDim;
#define threadIdx (Three{block.self->thread})
#define blockIdx (Three{block.first + block.self->rank})
inline u8* own_memory() { return all_memory + block.self->rank * SHARED; }

inline void yield() { switch_fiber(&block.self->at, block.home); }

inline void fail(const char* what) {
  if (!block.fault) block.fault = what;
  for (;;) yield();
}

static void begin_fiber() {
  block.body();
  block.self->over = true;
  block.moves++;
  for (;;) yield();
}

static void prepare(Fiber& f) {
  f.stack.resize(64 << 10);
  void** top = (void**)(((uintptr_t)f.stack.data() + f.stack.size()) & ~(uintptr_t)63);
  *--top = nullptr;
  *--top = (void*)begin_fiber;  // the stack is 16-byte aligned before the call that never was
  for (int i = 0; i < 6; i++) *--top = nullptr;
  f.at = top;
}

// ---- what a warp does together: the last lane to come does it for all

enum { SHUFFLE = 1, VOTE, MEET, TILES_OF, TILES_ACROSS, PRODUCT };

template <class Do>
inline const Exchange& together(int kind, const u32* in, int count, Do act) {
  Fiber& f = *block.self;
  Warp& w = *f.warp;
  const u64 turn = f.met++;
  Exchange* const lanes = w.lanes[turn & 1];
  if (w.arrived % 32 == 0) w.kind = kind;
  if (w.kind != kind) fail("lanes of a warp wait at different places");
  Exchange& own = lanes[f.thread & 31];
  for (int i = 0; i < count; i++) own.in[i] = in[i];
  w.arrived++, block.moves++;
  if (w.arrived == 32 * (turn + 1)) act(lanes);
  while (w.arrived < 32 * (turn + 1)) yield();
  return own;
}

template <class T>
inline T shuffled(T v, int from, bool exclusive_or) {
  u32 in[2];
  memcpy(in, &v, 4);
  in[1] = exclusive_or ? (u32)((int)(block.self->thread & 31) ^ from) : (u32)from & 31;
  const u32 out = together(SHUFFLE, in, 2, [](Exchange* lanes) {
                    for (int l = 0; l < 32; l++) lanes[l].out[0] = lanes[lanes[l].in[1]].in[0];
                  }).out[0];
  T result;
  memcpy(&result, &out, 4);
  return result;
}
template <class T> inline T __shfl_xor_sync(u32, T v, int mask) { return shuffled(v, mask, true); }
template <class T> inline T __shfl_sync(u32, T v, int from) { return shuffled(v, from, false); }

inline u32 __ballot_sync(u32, bool vote) {
  const u32 in[1] = {vote};
  return together(VOTE, in, 1, [](Exchange* lanes) {
           u32 all = 0;
           for (int l = 0; l < 32; l++) all |= lanes[l].in[0] << l;
           for (int l = 0; l < 32; l++) lanes[l].out[0] = all;
         }).out[0];
}

inline void __syncwarp() { together(MEET, nullptr, 0, [](Exchange*) {}); }

inline void __syncthreads() {
  Fiber& f = *block.self;
  const u64 turn = ++f.synced, all = block.fibers.size() / PARTS;
  block.synced[f.rank]++, block.moves++;
  while (block.synced[f.rank] < all * turn) yield();
}

// ---- what common.cuh has in assembly

inline u32 shared_address(const void* p) { return (u32)((const u8*)p - all_memory); }

inline u32 cluster_rank() { return block.self->rank; }
inline void cluster_sync() {
  const u64 turn = ++block.self->gathered, all = block.fibers.size();
  block.gathered++, block.moves++;
  while (block.gathered < all * turn) yield();
}
inline u32 address_at(u32 rank, u32 address) {
  if (rank >= PARTS) fail("no such rank in a cluster");
  return (u32)(address % SHARED + rank * SHARED);
}
inline float load_from_cluster(u32 address) {
  float v;
  memcpy(&v, all_memory + address, 4);
  return v;
}
inline void store_in_cluster(u32 address, float v) { memcpy(all_memory + address, &v, 4); }

inline Barrier& barrier_at(u32 address) {
  if (address % 8 || address >= PARTS * SHARED) fail("a barrier out of place");
  return block.barriers[address / 8];
}
inline void turn_over(Barrier& b) {
  if (b.waiting == 0 && b.bytes == 0) b.phase ^= 1, b.waiting = b.arrivals, block.moves++;
  if (b.waiting < 0) fail("more arrivals at a barrier than it waits for");
}
inline void barrier_init(u32 address, u32 arrivals) { barrier_at(address) = {(int)arrivals, (int)arrivals, 0, 0}; }
inline void barriers_are_visible() {}
inline void barrier_expect(u32 address, u32 bytes) {
  Barrier& b = barrier_at(address);
  b.bytes += bytes, b.waiting--;
  turn_over(b);
}
inline void barrier_arrive(u32 address) {
  Barrier& b = barrier_at(address);
  b.waiting--;
  turn_over(b);
}
inline void barrier_wait(u32 address, u32 parity) {
  while (barrier_at(address).phase == parity) yield();
}
inline void arrive_in_cluster(u32 address) { barrier_arrive(address); }
inline void wait_for_cluster(u32 address, u32 parity) { barrier_wait(address, parity); }
inline void copy_bulk(u32 to, const void* from, u32 bytes, u32 barrier) {
  if (to % 16 || (uintptr_t)from % 16 || bytes % 16) fail("a bulk copy that is not aligned");
  if (to % SHARED + bytes > SHARED) fail("a bulk copy behind the end of shared memory");
  block.copies.push_back({to, from, bytes, barrier});
  block.moves++;
}
inline void arrive(size_t which) {
  const Copy c = block.copies[which];
  block.copies.erase(block.copies.begin() + (long)which);
  memcpy(all_memory + c.to, c.from, c.bytes);
  Barrier& b = barrier_at(c.barrier);
  b.bytes -= c.bytes;
  block.moves++;
  turn_over(b);
}

inline float half_of(u32 bits) {
  const unsigned short b = (unsigned short)bits;
  _Float16 h;
  memcpy(&h, &b, 2);
  return (float)h;
}
inline u32 bits_of_half(float f) {
  const _Float16 h = (_Float16)f;
  unsigned short b;
  memcpy(&b, &h, 2);
  return b;
}
inline u32 pack(float low, float high) { return bits_of_half(low) | bits_of_half(high) << 16; }
inline float2 unpack(u32 v) { return {half_of(v & 0xffff), half_of(v >> 16)}; }

template <class Do>
inline u32 by_halves(u32 a, u32 b, Do act) {
  const float2 x = unpack(a), y = unpack(b);
  return pack(act(x.x, y.x), act(x.y, y.y));
}
inline u32 largest(u32 a, u32 b) { return by_halves(a, b, fmaxf); }
inline u32 smallest(u32 a, u32 b) { return by_halves(a, b, fminf); }
inline u32 minus(u32 a, u32 b) {
  return by_halves(a, b, [](float x, float y) { return x - y; });
}
inline u32 saturated(u32 a, u32 b, u32 c) {
  const float2 x = unpack(a), y = unpack(b), z = unpack(c);
  return pack(fminf(fmaxf(fmaf(x.x, y.x, z.x), 0.f), 1.f), fminf(fmaxf(fmaf(x.y, y.y, z.y), 0.f), 1.f));
}

inline void tiles(int kind, u32 address, u32* to) {
  if (address % 16 || address + 16 > PARTS * SHARED) fail("a row of a tile out of place");
  const Exchange& e = together(kind, &address, 1, [kind](Exchange* lanes) {
    for (int l = 0; l < 32; l++)
      for (int tile = 0; tile < 4; tile++) {
        unsigned short pair[2];
        for (int k = 0; k < 2; k++) {
          const int row = kind == TILES_OF ? l / 4 : 2 * (l % 4) + k, column = kind == TILES_OF ? 2 * (l % 4) + k : l / 4;
          memcpy(pair + k, all_memory + lanes[8 * tile + row].in[0] + 2 * column, 2);
        }
        lanes[l].out[tile] = pair[0] | (u32)pair[1] << 16;
      }
  });
  for (int i = 0; i < 4; i++) to[i] = e.out[i];
}
inline void load_tiles(u32 address, u32* to) { tiles(TILES_OF, address, to); }
inline void load_tiles_transposed(u32 address, u32* to) { tiles(TILES_ACROSS, address, to); }

inline void multiply(float* c, const u32* a, u32 b0, u32 b1) {
  u32 in[10] = {0, 0, 0, 0, a[0], a[1], a[2], a[3], b0, b1};
  memcpy(in, c, 16);
  const Exchange& e = together(PRODUCT, in, 10, [](Exchange* lanes) {
    float A[16][16], B[16][8];
    for (int l = 0; l < 32; l++) {
      const int g = l / 4, t = l % 4;
      for (int i = 0; i < 4; i++) {
        const float2 v = unpack(lanes[l].in[4 + i]);
        const int row = g + 8 * (i & 1), column = 2 * t + 8 * (i >> 1);
        A[row][column] = v.x, A[row][column + 1] = v.y;
      }
      for (int i = 0; i < 2; i++) {
        const float2 v = unpack(lanes[l].in[8 + i]);
        B[2 * t + 8 * i][g] = v.x, B[2 * t + 8 * i + 1][g] = v.y;
      }
    }
    float C[16][8] = {};
    for (int i = 0; i < 16; i++)
      for (int k = 0; k < 16; k++)
        for (int j = 0; j < 8; j++) C[i][j] += A[i][k] * B[k][j];
    for (int l = 0; l < 32; l++) {
      float own[4];
      memcpy(own, lanes[l].in, 16);
      for (int i = 0; i < 4; i++) own[i] += C[l / 4 + 8 * (i >> 1)][2 * (l % 4) + (i & 1)];
      memcpy(lanes[l].out, own, 16);
    }
  });
  memcpy(c, e.out, 16);
}

inline u32 hashed(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// ---- what CUDA has

template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
inline float __int_as_float(u32 v) { float f; memcpy(&f, &v, 4); return f; }
inline float __logf(float x) { return logf(x); }
inline float __expf(float x) { return expf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline int __ffs(u32 x) { return __builtin_ffs((int)x); }

// ---- launches

constexpr u8 GARBAGE = 0xff, GUARD = 0x5a;
constexpr u64 PATIENCE = 200000;  // turns without a move, after which nothing will ever move

static void run_block(std::mt19937& draw) {
  u64 before = 0, idle = 0;
  size_t over = 0;
  while (over < block.fibers.size() && !block.fault) {
    if (!block.copies.empty() && draw() % 2) arrive(draw() % block.copies.size());
    const u32 choice = draw(), first = choice % block.warps.size() * 32;
    const bool back = choice >> 20 & 1;
    for (int turns = 1 + (int)(choice >> 24) % 12; turns > 0; turns--)
      for (u32 i = 0; i < 32; i++) {
        Fiber& f = block.fibers[first + (back ? 31 - i : i)];
        if (f.over) continue;
        block.self = &f;
        switch_fiber(&block.home, f.at);
        over += f.over;
      }
    idle = block.moves == before ? idle + 1 : 0;
    before = block.moves;
    if (idle > PATIENCE) block.fault = "threads wait for what never comes";
  }
}

template <class... A, size_t... I>
static std::function<void()> bound(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  return [=] { kernel(*(std::remove_cv_t<A>*)arguments[I]...); };
}

template <class... A>
static const char* launch(void (*kernel)(A...), u32 grid, u32 threads, u32 shared, void** arguments, u32 count, u32 seed) {
  if (count != sizeof...(A)) return "the number of arguments is not the kernel's";
  if (threads % 32 || threads > 1024 || shared > SHARED - 64 || grid % PARTS) return "no such launch";
  std::mt19937 draw(seed);
  gridDim.x = grid, blockDim.x = threads;
  for (block.first = 0; block.first < grid; block.first += PARTS) {
    block.body = bound(kernel, arguments, std::index_sequence_for<A...>());
    block.warps.assign(PARTS * threads / 32, Warp());
    block.fibers.resize(PARTS * threads);
    block.copies.clear();
    block.gathered = 0, block.fault = nullptr;
    for (u32 p = 0; p < PARTS; p++) {
      block.synced[p] = 0;
      memset(all_memory + p * SHARED, GARBAGE, shared);
      memset(all_memory + p * SHARED + shared, GUARD, SHARED - shared);
    }
    for (u32 i = 0; i < PARTS * threads; i++) {
      Fiber& f = block.fibers[i];
      f.thread = i % threads, f.rank = i / threads, f.warp = &block.warps[i / 32];
      f.met = f.synced = f.gathered = 0, f.over = false;
      prepare(f);
    }
    run_block(draw);
    if (block.fault) return block.fault;
    for (size_t i = 0; i < PARTS * SHARED; i++)
      if (i % SHARED >= shared && all_memory[i] != GUARD) return "something was written behind the end of shared memory";
    if (!block.copies.empty()) return "a block ended before its bulk copies came";
  }
  return nullptr;
}

#define EMULATED(kernel)                                                                                       \
  extern "C" const char* run_##kernel(u32 grid, u32 threads, u32 shared, void** arguments, u32 count, u32 seed) { \
    return launch(kernel, grid, threads, shared, arguments, count, seed);                                      \
  }
