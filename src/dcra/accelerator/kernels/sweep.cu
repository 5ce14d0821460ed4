// Sweeps over the box for thousands of replicas, on tensor cores.
//
// A block of threads owns C = 16 M replicas. Their residuals z stay in its registers, as accumulators of matrix
// products: warp w has rows w TILES 8, ..., TILES tiles of 8 rows. A step takes C columns of A at once, as halves in
// 8 x 8 tiles that bulk copies bring three steps ahead:
//
//     z += A_B dx      of the step before
//     y  = clip(z)     the slopes of the smoothed loss, as halves
//     G  = A_B' y      for the columns of this step, summed over warps through shared memory
//     dx               a step along G, the penalty and the last move; x stays on a grid of 2^-10, so that dx is
//                      exact as a half and z never drifts from A x - b by more than float32 does
//
// Columns of a step move together (Jacobi), steps follow each other (Gauss-Seidel). After each sweep every replica
// steers its own rho so that the mean of x_j^2 follows the schedule.
//
// With more rows than the registers of a block hold, PARTS blocks share them: each sums G over its own rows, reads the
// sums of the others from their shared memory, and makes the same moves as they do.
//
// TABLE 0: sum |z|, smoothed: y = clip(z slope, -1, 1) = 2 sat(z slope / 2 + 1/2) - 1; the -1 goes into `pull`.
// TABLE 1: any table loss, rows scaled to curvature 1: y = clip(soft(z, e), lo, hi), three numbers for each row.

#define C (16 * M)
#define THREADS (32 * WARPS)
#define ROWS (8 * TILES * WARPS)     // of this block
#define OWNED (C * C / THREADS)      // columns of a step that a thread moves, all of one replica
#define SHARERS (C / OWNED)          // threads of one replica
#define TILE_BYTES (TILES * 2 * M * 128)
#define STAGES 3
#if M == 1
typedef float Partial;
#define STRIDE 24                    // of the partial sums of a replica: no two rows in one bank
#define GRADIENT_ROW(w, replica) ((w) * C + (replica)) * STRIDE
#else
typedef unsigned short Partial;
#define STRIDE 40
#define GRADIENT_ROW(w, replica) ((w) * C + (replica)) * STRIDE
#endif
#define GRID 1024.f
#define ORDERS 64                    // random orders of the steps, used in turn

#if TABLE
__device__ __forceinline__ u32 slopes(float low, float high, const uint4& row) {  // row: e, lo, hi, -e as pairs
  const u32 z = pack(low, high), inside = smallest(largest(z, row.w), row.x);
  return smallest(largest(minus(z, inside), row.y), row.z);
}
#define GAIN 1.f
#else
__device__ __forceinline__ u32 slopes(float low, float high, u32 half_slope, u32 half) {
  return saturated(pack(low, high), half_slope, half);
}
#define GAIN 2.f
#endif

__device__ __forceinline__ void load_owned(float (&to)[OWNED], const float* from) {
#if OWNED % 4 == 0
#pragma unroll
  for (int i = 0; i < OWNED / 4; i++) {
    const float4 v = *((const float4*)from + i);
    to[4 * i] = v.x, to[4 * i + 1] = v.y, to[4 * i + 2] = v.z, to[4 * i + 3] = v.w;
  }
#else
#pragma unroll
  for (int i = 0; i < OWNED; i++) to[i] = from[i];
#endif
}

__device__ __forceinline__ void store_owned(float* to, const float (&from)[OWNED]) {
#if OWNED % 4 == 0
#pragma unroll
  for (int i = 0; i < OWNED / 4; i++)
    *((float4*)to + i) = make_float4(from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]);
#else
#pragma unroll
  for (int i = 0; i < OWNED; i++) to[i] = from[i];
#endif
}

__device__ __forceinline__ void add_partials(float (&sum)[OWNED], const Partial* from) {
#if M == 1
#pragma unroll
  for (int i = 0; i < OWNED; i++) sum[i] += from[i];
#else
#pragma unroll
  for (int i = 0; i < OWNED / 4; i++) {
    const uint2 v = *((const uint2*)from + i);
    const float2 a = unpack(v.x), b = unpack(v.y);
    sum[4 * i] += a.x, sum[4 * i + 1] += a.y, sum[4 * i + 2] += b.x, sum[4 * i + 3] += b.y;
  }
#endif
}

// tiles (steps, PARTS WARPS, TILES, 2 M, 8, 8) halves; Z (replicas, PARTS ROWS); X, V (replicas, steps C): points and last moves;
// inverse_curvature, pull (steps C): 0 and anything where a column is padding; order: ORDERS permutations of the
// steps and their first four entries once more.
extern "C" __global__ void CLUSTER __launch_bounds__(THREADS, BLOCKS)
    sweep(const u8* __restrict__ tiles, float* Z, float* X, float* V, float* rho_of, const float* __restrict__ inverse_curvature,
          const float* __restrict__ pull, const uint4* __restrict__ table, const int* __restrict__ order, int steps, int n,
          int first, int last, int total_sweeps, float slope, float momentum, float shape, float power, float least) {
  extern __shared__ __align__(128) u8 memory[];
  Partial* const partial = (Partial*)(memory + WARPS * STAGES * TILE_BYTES);
  u8* const moves = (u8*)(partial + WARPS * C * STRIDE);
  uint4* const rows = (uint4*)(moves + C * C * 2);
  float* const own_sums = (float*)(rows + (TABLE ? ROWS / 2 : 0));  // two of them, used in turn
  u64* const barriers = (u64*)(own_sums + (PARTS > 1 ? 2 * C * C : 0));
  const int rank = PARTS > 1 ? cluster_rank() : 0, group = blockIdx.x / PARTS;
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, width = steps * C;
  const int g = lane >> 2, t = lane & 3;
  const u32 full = shared_address(barriers + warp * STAGES);
  const u32 ring = shared_address(memory + warp * STAGES * TILE_BYTES);
  if (lane == 0)
    for (int s = 0; s < STAGES; s++) barrier_init(full + 8 * s, 1);
  barriers_are_visible();
#if TABLE
  for (int i = thread; i < ROWS / 2; i += THREADS) rows[i] = table[rank * (ROWS / 2) + i];
#endif
  __syncthreads();

  float z[M][TILES][4];
  const size_t all_rows = PARTS * ROWS;
  float* const residuals = Z + (group * C + g) * all_rows + rank * ROWS + warp * TILES * 8 + 2 * t;
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int q = 0; q < TILES; q++) {
      const float2 a = *(const float2*)(residuals + 16 * m * all_rows + 8 * q);
      const float2 b = *(const float2*)(residuals + (16 * m + 8) * all_rows + 8 * q);
      z[m][q][0] = a.x, z[m][q][1] = a.y, z[m][q][2] = b.x, z[m][q][3] = b.y;
    }

  const int total = (last - first) * steps, period = ORDERS * steps;
  int at = (int)((group * 17u + first) % ORDERS) * steps;
  const u8* const mine = tiles + (size_t)(rank * WARPS + warp) * TILE_BYTES;
  const size_t step_bytes = (size_t)PARTS * WARPS * TILE_BYTES;
  if (lane == 0)
    for (int k = 0; k < STAGES && k < total; k++) {
      barrier_expect(full + 8 * k, TILE_BYTES);
      copy_bulk(ring + k * TILE_BYTES, mine + __ldg(order + at + k) * step_bytes, TILE_BYTES, full + 8 * k);
    }

  // What this thread moves: OWNED columns of one replica.
  const int replica = thread * OWNED / C, column = thread * OWNED % C;
  const size_t place = (size_t)(group * C + replica) * width + column;
  int step = __ldg(order + at);
  float rho = rho_of[group * C + replica], size = 0.f;
  float x_old[OWNED], v_old[OWNED], inverse[OWNED], own_pull[OWNED];
  load_owned(x_old, X + place + step * C);
  load_owned(v_old, V + place + step * C);
  load_owned(inverse, inverse_curvature + column + step * C);
  load_owned(own_pull, pull + column + step * C);
  u8* const move_to = moves +
                      (((replica >> 4) * M + (column >> 4)) * 4 + ((column >> 3) & 1) * 2 + ((replica >> 3) & 1)) * 128 +
                      (replica & 7) * 16 + (column & 7) * 2;
  const Partial* const sums = partial + GRADIENT_ROW(0, replica) + column;
  Partial* const write_sums = partial + GRADIENT_ROW(warp, g) + 2 * t;
  const u32 move_from = shared_address(moves) + lane * 16;
  const u32 transposed = ((lane >> 3) & 1) * (2 * M * 128) + (lane >> 4) * 128 + (lane & 7) * 16;
#if TABLE
  const uint4* const own_rows = rows + warp * TILES * 4 + t;
#else
  const u32 half = pack(.5f, .5f), half_slope = pack(.5f * slope, .5f * slope);
#endif

  float G[M][2 * M][4];
  u32 d[M][M][4];
  auto update = [&](u32 from, int p) {  // z of row tiles 2p, 2p + 1 after the moves d
    u32 u[4 * M];
#pragma unroll
    for (int k = 0; k < M; k++) load_tiles(from + (p * M + k) * 512, u + 4 * k);
#pragma unroll
    for (int h = 0; h < M; h++)
#pragma unroll
      for (int k = 0; k < 2; k++)
#pragma unroll
        for (int m = 0; m < M; m++) multiply(z[m][2 * p + k], d[m][h], u[(k * M + h) * 2], u[(k * M + h) * 2 + 1]);
  };
  auto pull_back = [&](u32 from, int p) {  // G += A' y of these rows
    u32 v[4 * M];
#pragma unroll
    for (int k = 0; k < M; k++) load_tiles_transposed(from + p * (4 * M * 128) + k * 256, v + 4 * k);
#if TABLE
    const uint4 above = own_rows[8 * p], below = own_rows[8 * p + 4];
#endif
#pragma unroll
    for (int m = 0; m < M; m++) {
      const float(&a)[4] = z[m][2 * p], (&b)[4] = z[m][2 * p + 1];
#if TABLE
      const u32 y[4] = {slopes(a[0], a[1], above), slopes(a[2], a[3], above), slopes(b[0], b[1], below),
                        slopes(b[2], b[3], below)};
#else
      const u32 y[4] = {slopes(a[0], a[1], half_slope, half), slopes(a[2], a[3], half_slope, half),
                        slopes(b[0], b[1], half_slope, half), slopes(b[2], b[3], half_slope, half)};
#endif
#pragma unroll
      for (int c = 0; c < 2 * M; c++) multiply(G[m][c], y, v[2 * c], v[2 * c + 1]);
    }
  };
  auto clear = [&]() {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int c = 0; c < 2 * M; c++)
#pragma unroll
        for (int e = 0; e < 4; e++) G[m][c][e] = 0.f;
  };

  // Stages of the tiles of this step, the next and the one after, as offsets into the ring and its barriers.
  u32 now = 0, next = 1, after = 2, parity = 0;
  clear();
  barrier_wait(full, 0);
#pragma unroll
  for (int p = 0; p < TILES / 2; p++) pull_back(ring + transposed, p);

  int left = steps, sweep_at = first;
  for (int q = 0; q < total; q++) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int c = 0; c < 2 * M; c++) {
#if M == 1
        *(float2*)(write_sums + 8 * c) = make_float2(G[m][c][0], G[m][c][1]);
        *(float2*)(write_sums + 8 * STRIDE + 8 * c) = make_float2(G[m][c][2], G[m][c][3]);
#else
        *(u32*)(write_sums + 16 * m * STRIDE + 8 * c) = pack(G[m][c][0], G[m][c][1]);
        *(u32*)(write_sums + (16 * m + 8) * STRIDE + 8 * c) = pack(G[m][c][2], G[m][c][3]);
#endif
      }
    const int coming = __ldg(order + at + 1), fetched = __ldg(order + at + 3);
    __syncthreads();
    float sum[OWNED], x[OWNED], dx[OWNED];
#pragma unroll
    for (int i = 0; i < OWNED; i++) sum[i] = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) add_partials(sum, sums + w * C * STRIDE);
#if PARTS > 1
    float* const shown = own_sums + (q & 1) * C * C + thread * OWNED;
    store_owned(shown, sum);
    cluster_sync();  // the other of the two may be read still
#pragma unroll
    for (int i = 0; i < OWNED; i++) {
      sum[i] = 0.f;
#pragma unroll
      for (int p = 0; p < PARTS; p++) sum[i] += load_from_cluster(address_at(p, shared_address(shown + i)));
    }
#endif
#pragma unroll
    for (int i = 0; i < OWNED; i++) {
      const float old = x_old[i];
      const float down = GAIN * sum[i] + own_pull[i] - 2.f * rho * old * (1.f + shape * (1.f - old * old));
      const float moved = old - down * inverse[i] + momentum * v_old[i];
      x[i] = rintf(fminf(fmaxf(moved, -1.f), 1.f) * GRID) * (1.f / GRID);
      dx[i] = x[i] - old;
      size += x[i] * x[i];
    }
#if M == 1
#pragma unroll
    for (int i = 0; i < OWNED; i++) *(unsigned short*)(move_to + 2 * i) = (unsigned short)pack(dx[i], 0.f);
#else
#pragma unroll
    for (int i = 0; i < OWNED / 4; i++)
      *(uint2*)(move_to + 8 * i) = make_uint2(pack(dx[4 * i], dx[4 * i + 1]), pack(dx[4 * i + 2], dx[4 * i + 3]));
#endif
    store_owned(X + place + step * C, x);
    store_owned(V + place + step * C, dx);
    load_owned(x_old, X + place + coming * C);
    load_owned(v_old, V + place + coming * C);
    load_owned(inverse, inverse_curvature + column + coming * C);
    load_owned(own_pull, pull + column + coming * C);
    if (--left == 0) {
      left = steps, sweep_at++;
#pragma unroll
      for (int o = SHARERS / 2; o >= 1; o >>= 1) size += __shfl_xor_sync(~0u, size, o);
      const float mean = (size - (width - n)) / n;  // padding sits at 1
      rho = fmaxf(rho * __expf(__powf((float)sweep_at / total_sweeps, power) - mean), least);
      size = 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int h = 0; h < M; h++) load_tiles(move_from + (m * M + h) * 512, d[m][h]);
    const u32 from = ring + now * TILE_BYTES + lane * 16, onto = ring + next * TILE_BYTES + transposed;
    if (next == 0) parity ^= 1;
    if (q + 1 < total) barrier_wait(full + 8 * next, parity);
    clear();
#pragma unroll
    for (int p = 0; p < TILES / 2; p++) {
      update(from, p);
      if (p > 0) pull_back(onto, p - 1);
    }
    pull_back(onto, TILES / 2 - 1);
    __syncwarp();
    if (lane == 0 && q + STAGES < total) {
      barrier_expect(full + 8 * now, TILE_BYTES);
      copy_bulk(ring + now * TILE_BYTES, mine + fetched * step_bytes, TILE_BYTES, full + 8 * now);
    }
    const u32 freed = now;
    now = next, next = after, after = freed;
    step = coming;
    if (++at == period) at = 0;
  }

#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int q = 0; q < TILES; q++) {
      *(float2*)(residuals + 16 * m * all_rows + 8 * q) = make_float2(z[m][q][0], z[m][q][1]);
      *(float2*)(residuals + (16 * m + 8) * all_rows + 8 * q) = make_float2(z[m][q][2], z[m][q][3]);
    }
#if PARTS > 1
  cluster_sync();  // nobody leaves while others read its sums
#endif
  if (column == 0) rho_of[group * C + replica] = rho;
}
