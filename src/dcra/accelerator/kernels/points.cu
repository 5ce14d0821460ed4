// Points between their three forms: relaxed x for sweeps, signs as bytes, and bits for annealing.

// Starts numbered first, first + 1, ...: uniform in [-spread, spread] on the grid, a function of (seed, start, column)
// alone. names (n): the column of the problem that each column here is.
extern "C" __global__ void scatter(float* X, float* V, const int* __restrict__ names, int n, int width, int replicas,
                                   u32 seed, u32 salt, int first, float spread) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)replicas * width;
       i += (size_t)gridDim.x * blockDim.x) {
    const int replica = (int)(i / width), j = (int)(i % width);
    float x = 1.f;
    if (j < n) {
      const u32 h = hashed(hashed(hashed(seed + 0x9e3779b9u) ^ (u32)(first + replica)) ^ hashed((u32)names[j] + salt));
      x = rintf((h * 4.6566129e-10f - 1.f) * spread * 1024.f) * (1.f / 1024.f);
    }
    X[i] = x;
    V[i] = 0.f;
  }
}

// Signs of X (replicas, width), as bytes (replicas, 4 quads); padding is 1.
extern "C" __global__ void signs(const float* __restrict__ X, signed char* S, int n, int width, int quads, int replicas) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)replicas * quads * 4;
       i += (size_t)gridDim.x * blockDim.x) {
    const int replica = (int)(i / (4 * quads)), j = (int)(i % (4 * quads));
    S[i] = j >= n || X[(size_t)replica * width + j] >= 0.f ? 1 : -1;
  }
}

// Signs (groups K, 4 quads) to bits (groups, quads) and back.
extern "C" __global__ void to_bits(const signed char* __restrict__ S, u32* bits, int K, int quads, int groups) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)groups * quads;
       i += (size_t)gridDim.x * blockDim.x) {
    const size_t group = i / quads, quad = i % quads;
    u32 word = 0;
    for (int k = 0; k < K; k++)
      for (int c = 0; c < 4; c++) word |= (u32)(S[((group * K + k) * quads + quad) * 4 + c] > 0) << (8 * c + k);
    bits[i] = word;
  }
}

extern "C" __global__ void from_bits(const u32* __restrict__ bits, signed char* S, int K, int quads, int groups) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)groups * quads;
       i += (size_t)gridDim.x * blockDim.x) {
    const size_t group = i / quads, quad = i % quads;
    const u32 word = bits[i];
    for (int k = 0; k < K; k++)
      for (int c = 0; c < 4; c++) S[((group * K + k) * quads + quad) * 4 + c] = (word >> (8 * c + k)) & 1u ? 1 : -1;
  }
}

// Random signs of starts: functions of (seed, place, start, column) alone, where start i belongs to the right-hand side
// at places[i / starts]; padding is 1.
extern "C" __global__ void random_signs(const int* __restrict__ places, signed char* S, int n, int quads, int count, int starts,
                                        u32 seed, u32 salt) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)count * quads;
       i += (size_t)gridDim.x * blockDim.x) {
    const int start = (int)(i / quads), quad = (int)(i % quads);
    const u32 which = hashed(hashed(seed + 0x9e3779b9u) ^ (u32)places[start / starts]) + (u32)(start % starts);
    const u32 bits = hashed(hashed(which) ^ hashed((u32)quad + salt));
    for (int c = 0; c < 4; c++) S[4 * i + c] = 4 * quad + c >= n || (bits >> c) & 1u ? 1 : -1;
  }
}
