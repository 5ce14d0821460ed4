// Annealing of s'Js + c's over spins, for many replicas.
//
// A warp owns a replica: its fields f = 2 J s + c and its spins lie in shared memory. A flip of s_j costs -2 s_j f_j,
// so that 32 of them are decided at once; the first that is accepted is made, one column of J moves all fields, and
// those behind it are decided again. Most flips are refused, and a refusal reads nothing but a field.
//
// STORE 0: couplings 2 J as floats; 1: as halves, where these are exact; 2: columns of a sparse matrix.

#if STORE == 1
typedef uint2 Four;
__device__ __forceinline__ float4 widened(const Four& v) {
  const float2 a = unpack(v.x), b = unpack(v.y);
  return make_float4(a.x, a.y, b.x, b.y);
}
#else
typedef float4 Four;
__device__ __forceinline__ float4 widened(const Four& v) { return v; }
#endif

#if STORE == 2
__device__ __forceinline__ void move_fields(float* fields, const void*, const int* start, const int2* entries, int j, float t,
                                            int width, int lane) {
  const int end = __ldg(start + j + 1);
  for (int e = __ldg(start + j) + lane; e < end; e += 32) {
    const int2 entry = __ldg(entries + e);  // which, how much
    fields[entry.x] = fmaf(t, __int_as_float(entry.y), fields[entry.x]);
  }
}
#else
__device__ __forceinline__ void move_fields(float* fields, const void* couplings, const int*, const int2*, int j, float t,
                                            int width, int lane) {
  const Four* const column = (const Four*)couplings + (size_t)j * (width / 4) + lane;
  float4* const own = (float4*)fields + lane;
#pragma unroll 8
  for (int k = 0; k < width / 128; k++) {
    const float4 a = widened(__ldg(column + 32 * k));
    float4 f = own[32 * k];
    f.x = fmaf(t, a.x, f.x), f.y = fmaf(t, a.y, f.y), f.z = fmaf(t, a.z, f.z), f.w = fmaf(t, a.w, f.w);
    own[32 * k] = f;
  }
}
#endif

// couplings (n, width), or entries[start[j]], ... of column j; F (replicas, width), bits (replicas, width / 32): bit j % 32
// of word j / 32 is s_j = 1; width is a multiple of 128 and padding is 0; passes are numbered from `first`, so that short
// launches do what a long one does.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
    anneal_spins(const void* __restrict__ couplings, const int* __restrict__ start, const int2* __restrict__ entries, float* F,
                 u32* bits_of, const float* __restrict__ temperatures, int n,
                 int width, int replicas, int first, int passes, u32 seed) {
  extern __shared__ __align__(128) u8 memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, replica = blockIdx.x * WARPS + warp;
  if (replica >= replicas) return;
  float* const fields = (float*)memory + (size_t)warp * width;
  u32* const bits = (u32*)((float*)memory + (size_t)WARPS * width) + (size_t)warp * (width / 32);
  for (int i = lane; i < width; i += 32) fields[i] = F[(size_t)replica * width + i];
  for (int i = lane; i < width / 32; i += 32) bits[i] = bits_of[(size_t)replica * (width / 32) + i];
  __syncwarp();
  const u32 own_seed = hashed(seed ^ hashed((u32)replica * 32u + lane + 1u));
  for (int pass = 0; pass < passes; pass++) {
    u32 random = hashed(own_seed + (u32)(first + pass));
    const float temperature = __ldg(temperatures + pass);
    for (int base = 0; base < n; base += 32) {
      random = random * 747796405u + 2891336453u;
      u32 h = ((random >> ((random >> 28) + 4)) ^ random) * 277803737u;
      h ^= h >> 22;
      const float allowed = -temperature * __logf((h + .5f) * 2.3283064e-10f);
      const u32 word = bits[base / 32];
      const float twice = (word >> lane) & 1u ? -2.f : 2.f;  // the move of s
      const bool there = base + lane < n;
      u32 accepted = __ballot_sync(~0u, there && twice * fields[base + lane] < allowed);
      u32 changed = word;
      while (accepted) {
        const int j = __ffs(accepted) - 1;
        const float t = __shfl_sync(~0u, twice, j);
        changed ^= 1u << j;
        __syncwarp();  // all have read their fields
        move_fields(fields, couplings, start, entries, base + j, t, width, lane);
        __syncwarp();
        accepted = __ballot_sync(~0u, there && lane > j && twice * fields[base + lane] < allowed);
      }
      if (changed != word) {
        if (lane == 0) bits[base / 32] = changed;
        __syncwarp();
      }
    }
  }
  for (int i = lane; i < width; i += 32) F[(size_t)replica * width + i] = fields[i];
  for (int i = lane; i < width / 32; i += 32) bits_of[(size_t)replica * (width / 32) + i] = bits[i];
}

// Random spins of starts numbered first, first + 1, ...: functions of (seed, start, word) alone; padding is 0.
extern "C" __global__ void random_spins(u32* bits, int n, int width, int replicas, u32 seed, u32 salt, int first) {
  const int words = width / 32;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)replicas * words;
       i += (size_t)gridDim.x * blockDim.x) {
    const int replica = (int)(i / words), word = (int)(i % words), inside = n - 32 * word;
    const u32 drawn = hashed(hashed(hashed(seed + 0x9e3779b9u) ^ (u32)(first + replica)) ^ hashed((u32)word + salt));
    bits[i] = inside >= 32 ? drawn : inside <= 0 ? 0u : drawn & ((1u << inside) - 1u);
  }
}

// Bits (replicas, width / 32) as spins (replicas, width), padding 0.
extern "C" __global__ void spins_of(const u32* __restrict__ bits, float* S, int n, int width, int replicas) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)replicas * width;
       i += (size_t)gridDim.x * blockDim.x) {
    const int j = (int)(i % width);
    S[i] = j >= n ? 0.f : (bits[i / 32] >> (j & 31)) & 1u ? 1.f : -1.f;
  }
}

// The sum of the columns of a sparse matrix at spins S (replicas, width), on top of what lies in F.
extern "C" __global__ void add_products(const int* __restrict__ start, const int2* __restrict__ entries,
                                        const float* __restrict__ S, float* F, int n, int width, int replicas) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)replicas * width;
       i += (size_t)gridDim.x * blockDim.x) {
    const int j = (int)(i % width);
    if (j >= n) continue;
    const float* const own = S + (i - j);
    float sum = 0.f;
    for (int e = start[j]; e < start[j + 1]; e++) sum = fmaf(__int_as_float(entries[e].y), own[entries[e].x], sum);
    F[i] += sum;
  }
}
