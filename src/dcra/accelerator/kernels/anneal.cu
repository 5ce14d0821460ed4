// Annealing, and at temperature 0 descent, on the true loss in float32.
//
// A warp owns K replicas, with their residuals in its registers: lane l has rows 4 (32 q + l), ..., LANE_ROWS in all.
// Columns come four at a time through a ring in shared memory that the eight warps of a block read at their own pace;
// nobody waits for anybody but the ring. All four flips are priced for all K replicas, the first that a replica
// accepts is made, and the others of the four wait for the next pass: acceptance is rare.
//
// With more rows than the registers of a warp hold, warps of PARTS blocks share them: each sends what its rows make of the
// flips to the shared memory of the others, adds up what has come in the order of their ranks, and decides as they do.
//
// TABLE 0: sum |z|. TABLE 1: any table loss, by (1/k, e, lo, hi) of each row.
// BEST 1: after every pass, what is better than all before is remembered: small problems pass by their best points.

#define COLUMNS 4
#define TRIED (K * COLUMNS)
#define SHARE (32 / TRIED)           // lanes that hold the sum of one flip
#define ROWS (32 * LANE_ROWS)        // of this warp
#define QUADS (LANE_ROWS / 4)
#define WARPS 8
#define STAGES 4
#define LAG 2                        // steps after which a stage is taken to be read by all, and filled again
#define STAGE_BYTES (COLUMNS * ROWS * 4)
#ifndef ARRIVING
#define ARRIVING 1                   // lanes that say for their warp that a stage is read
#endif
#define FLIP(bits, c, k) __int_as_float(0x40000000u | ((((bits) >> (8 * (c) + (k))) & 1u) << 31))  // x = 1: by -2

#if TABLE
__device__ __forceinline__ float value(float z, const float4& row, float half_k) {
  const float u = z - fminf(fmaxf(z, -row.y), row.y);
  const float g = fminf(fmaxf(u * row.x, row.z), row.w);
  return g * fmaf(-half_k, g, u);
}
#endif

// Of 2 WIDTH numbers each half of the lanes keeps one half, summed over both.
template <int WIDTH>
__device__ __forceinline__ void fold(float (&g)[TRIED], int lane) {
  if constexpr (WIDTH > 0) {
    constexpr int other = 16 * 2 * WIDTH / TRIED;
    const bool upper = lane & other;
#pragma unroll
    for (int i = 0; i < WIDTH; i++) {
      const float low = g[i], high = g[i + WIDTH];
      g[i] = (upper ? high : low) + __shfl_xor_sync(~0u, upper ? low : high, other);
    }
    fold<WIDTH / 2>(g, lane);
  }
}

// The sums over all lanes of TRIED numbers, number i to the lanes i SHARE, ...
__device__ __forceinline__ float scattered_sum(float (&g)[TRIED], int lane) {
  fold<TRIED / 2>(g, lane);
  float v = g[0];
#pragma unroll
  for (int o = SHARE / 2; o >= 1; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}

// columns (4 quads, PARTS ROWS); Z (replicas, PARTS ROWS); bits (groups of K, quads): byte c, bit k: x of column 4 quad + c of
// replica k is 1; line_of: c'x; E_of: the objective, on return; passes are numbered from `first`, so that many short
// launches do what one long one does; table: row i of quad q of lane l of a part at (part, i, q, l).
extern "C" __global__ void CLUSTER __launch_bounds__(32 * WARPS, 1)
    anneal(const float* __restrict__ columns, float* Z, u32* bits_of, float* E_of, float* line_of, const float* __restrict__ linear,
           const float4* __restrict__ table, const float* __restrict__ temperatures, int quads, int first, int passes, u32 seed
#if BEST
           ,
           u32* best_bits_of, float* best_E_of
#endif
    ) {
  extern __shared__ __align__(128) u8 memory[];
  const float* const ring = (const float*)memory;
  float4* const rows = (float4*)(memory + STAGES * STAGE_BYTES);
  float* const mail = (float*)(rows + (TABLE ? ROWS : 0));
  u64* const barriers = (u64*)(mail + (PARTS > 1 ? WARPS * 2 * PARTS * TRIED : 0));
  const int rank = PARTS > 1 ? cluster_rank() : 0;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const u32 full = shared_address(barriers), empty = shared_address(barriers + STAGES);
  if (thread == 0)
    for (int s = 0; s < STAGES; s++) barrier_init(full + 8 * s, 1), barrier_init(empty + 8 * s, WARPS * ARRIVING);
  barriers_are_visible();
#if TABLE
  for (int i = thread; i < ROWS; i += 32 * WARPS) rows[i] = table[rank * ROWS + i];
#endif
#if PARTS > 1
  const u32 own_mail = shared_address(mail + warp * 2 * PARTS * TRIED);
  const u32 delivered = shared_address(barriers + 2 * STAGES + 2 * warp);
  if (lane == 0) barrier_init(delivered, PARTS), barrier_init(delivered + 8, PARTS);
  barriers_are_visible();
  cluster_sync();
  u32 letters = 0;
  auto total_of = [&](float part) {  // of what all parts have for the number of this lane
    const u32 box = own_mail + (letters & 1) * (PARTS * TRIED * 4), bell = delivered + (letters & 1) * 8;
    for (int p = lane % SHARE; p < PARTS; p += SHARE)
      store_in_cluster(address_at(p, box + (rank * TRIED + lane / SHARE) * 4), part);
    __syncwarp();
    if (lane < PARTS) arrive_in_cluster(address_at(lane, bell));
    wait_for_cluster(bell, (letters++ >> 1) & 1);
    float sum = 0.f;
#pragma unroll
    for (int p = 0; p < PARTS; p++) sum += load_from_cluster(box + (p * TRIED + lane / SHARE) * 4);
    return sum;
  };
#else
  auto total_of = [](float part) { return part; };
#endif
  __syncthreads();
  const int total = passes * quads;
  auto fetch = [&](int stage, int quad) {
    barrier_expect(full + 8 * stage, STAGE_BYTES);
    const u32 to = shared_address(memory) + stage * STAGE_BYTES;
#if PARTS > 1
    const float* const from = columns + ((size_t)quad * (COLUMNS * PARTS) + rank) * ROWS;
    for (int c = 0; c < COLUMNS; c++) copy_bulk(to + c * (ROWS * 4), from + (size_t)c * (PARTS * ROWS), ROWS * 4, full + 8 * stage);
#else
    copy_bulk(to, columns + (size_t)quad * (COLUMNS * ROWS), STAGE_BYTES, full + 8 * stage);
#endif
  };
  if (thread == 0)
    for (int k = 0; k < STAGES && k < total; k++) fetch(k, k % quads);

  const int group = blockIdx.x / PARTS * WARPS + warp, number = lane / SHARE, replica = number / COLUMNS;
  u32* const bits = bits_of + (size_t)group * quads;
  float z[K][LANE_ROWS];
  float4* const residuals = (float4*)(Z + ((size_t)group * K * PARTS + rank) * ROWS) + lane;
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
      const float4 v = residuals[k * (PARTS * ROWS / 4) + q * 32];
      z[k][4 * q] = v.x, z[k][4 * q + 1] = v.y, z[k][4 * q + 2] = v.z, z[k][4 * q + 3] = v.w;
    }
  float line = line_of[group * K + replica], E;
  {
    float g[TRIED];
#pragma unroll
    for (int k = 0; k < K; k++) {
      float s = 0.f;
#pragma unroll
      for (int q = 0; q < LANE_ROWS; q++) {
#if TABLE
        const float4 row = rows[((q & 3) * QUADS + (q >> 2)) * 32 + lane];
        s += value(z[k][q], row, __fdividef(.5f, row.x));
#else
        s += fabsf(z[k][q]);
#endif
      }
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) g[k * COLUMNS + c] = s;
    }
    E = total_of(scattered_sum(g, lane)) + line;
  }
#if BEST
  u32* const best_bits = best_bits_of + (size_t)group * quads;
  float best = best_E_of[group * K + replica];
#endif
  const u32 own_seed = hashed(seed ^ hashed((u32)(group * TRIED + number) + 1u));
  u32 random = hashed(own_seed + (u32)first), parity = 0, ahead = __ldcg(bits);
  int stage = 0, quad = 0, pass = 0;
  float temperature = __ldg(temperatures);
  for (int it = 0; it < total; it++) {
    const u32 m = ahead;
    const int coming = quad + 1 == quads ? 0 : quad + 1;
    ahead = __ldcg(bits + coming);
    random = random * 747796405u + 2891336453u;
    u32 h = ((random >> ((random >> 28) + 4)) ^ random) * 277803737u;
    h ^= h >> 22;
    const int own = number % COLUMNS;
    const float own_flip = FLIP(m, own, replica), own_linear = __ldg(linear + 4 * quad + own);
    const float allowed = -temperature * __logf((h + .5f) * 2.3283064e-10f);
    barrier_wait(full + 8 * stage, parity);
    const float4* const column = (const float4*)(ring + stage * (COLUMNS * ROWS)) + lane;
    float g[TRIED];
#pragma unroll
    for (int i = 0; i < TRIED; i++) g[i] = 0.f;
#if TABLE
    float t[K][COLUMNS];
#pragma unroll
    for (int i = 0; i < TRIED; i++) t[i / COLUMNS][i % COLUMNS] = FLIP(m, i % COLUMNS, i / COLUMNS);
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
      float a[COLUMNS][4];
#pragma unroll
      for (int c = 0; c < COLUMNS; c++) *(float4*)a[c] = column[(c * QUADS + q) * 32];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float4 row = rows[(i * QUADS + q) * 32 + lane];
        const float half_k = __fdividef(.5f, row.x);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
#pragma unroll
          for (int k = 0; k < K; k++) g[k * COLUMNS + c] += value(fmaf(t[k][c], a[c][i], z[k][4 * q + i]), row, half_k);
      }
    }
#else
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      float t[K];
#pragma unroll
      for (int k = 0; k < K; k++) t[k] = FLIP(m, c, k);
#pragma unroll
      for (int q = 0; q < QUADS; q++) {
        const float4 a = column[(c * QUADS + q) * 32];
#pragma unroll
        for (int k = 0; k < K; k++) {
          g[k * COLUMNS + c] += fabsf(fmaf(t[k], a.x, z[k][4 * q]));
          g[k * COLUMNS + c] += fabsf(fmaf(t[k], a.y, z[k][4 * q + 1]));
          g[k * COLUMNS + c] += fabsf(fmaf(t[k], a.z, z[k][4 * q + 2]));
          g[k * COLUMNS + c] += fabsf(fmaf(t[k], a.w, z[k][4 * q + 3]));
        }
      }
    }
#endif
    const float sum = total_of(scattered_sum(g, lane)), then = line + own_flip * own_linear, flipped = sum + then;
    const u32 accepted = __ballot_sync(~0u, flipped - E < allowed);
    if (accepted) {
      u32 changed = m;
#pragma unroll
      for (int k = 0; k < K; k++) {
        const u32 mask = TRIED == 32 ? 0xfu : TRIED == 16 ? 0x55u : TRIED == 8 ? 0x1111u : 0x01010101u;
        const u32 taken = (accepted >> (k * COLUMNS * SHARE)) & mask;  // one bit for each column
        if (taken) {
          const int c = (__ffs(taken) - 1) / SHARE;
          const int from = (k * COLUMNS + c) * SHARE;
          const float e = __shfl_sync(~0u, flipped, from), l = __shfl_sync(~0u, then, from);
          if (replica == k) E = e, line = l;
          const float t = FLIP(m, c, k);
          changed ^= 1u << (8 * c + k);
#pragma unroll
          for (int q = 0; q < QUADS; q++) {
            const float4 a = column[(c * QUADS + q) * 32];
            z[k][4 * q] = fmaf(t, a.x, z[k][4 * q]), z[k][4 * q + 1] = fmaf(t, a.y, z[k][4 * q + 1]);
            z[k][4 * q + 2] = fmaf(t, a.z, z[k][4 * q + 2]), z[k][4 * q + 3] = fmaf(t, a.w, z[k][4 * q + 3]);
          }
        }
      }
      if (lane == 0) bits[quad] = changed;
    }
    __syncwarp();
    if (lane < ARRIVING) barrier_arrive(empty + 8 * stage);
    if (lane == 0) {
      const int read = it - LAG;  // one warp in turn fills the stage of these columns again
      if ((it & (WARPS - 1)) == warp && read >= 0 && read + STAGES < total) {
        barrier_wait(empty + 8 * (read % STAGES), (read / STAGES) & 1);
        fetch(read % STAGES, (quad + STAGES - LAG) % quads);
      }
    }
#if BEST
    if (coming == 0) {
      const u32 better = __ballot_sync(~0u, E < best);
      if (better) {
        u32 mask = 0;  // of the bits of replicas that are
#pragma unroll
        for (int k = 0; k < K; k++) mask |= ((better >> (k * COLUMNS * SHARE)) & 1u) * (0x01010101u << k);
        for (int q = lane; q < quads; q += 32) best_bits[q] = (best_bits[q] & ~mask) | (__ldcg(bits + q) & mask);
        best = fminf(best, E);
      }
    }
#endif
    if (++stage == STAGES) stage = 0, parity ^= 1;
    quad = coming;
    if (quad == 0 && ++pass < passes) temperature = __ldg(temperatures + pass), random = hashed(own_seed + (u32)(first + pass));
  }
#pragma unroll
  for (int k = 0; k < K; k++)
#pragma unroll
    for (int q = 0; q < QUADS; q++)
      residuals[k * (PARTS * ROWS / 4) + q * 32] = make_float4(z[k][4 * q], z[k][4 * q + 1], z[k][4 * q + 2], z[k][4 * q + 3]);
#if PARTS > 1
  cluster_sync();  // nobody leaves while others send it letters
#endif
  if (lane % (SHARE * COLUMNS) == 0) E_of[group * K + replica] = E, line_of[group * K + replica] = line;
#if BEST
  if (lane % (SHARE * COLUMNS) == 0) best_E_of[group * K + replica] = best;
#endif
}
