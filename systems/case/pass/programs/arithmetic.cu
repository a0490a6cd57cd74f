// Sizes and grids by library functions and in floating point.
#include <algorithm>
#include <cmath>
#include <cstdlib>
__global__ void k(float *p) {}
static size_t bytes_of(int w, int h) { return (size_t)w * h * sizeof(float); }
int main(int argc, char **argv) {
  int w = argc > 1 ? atoi(argv[1]) : 100, h = 10;
  float *p;
  cudaMalloc(&p, bytes_of(std::max(w, 64), std::min(h, 20)));
  dim3 block(16, 16);
  dim3 grid((int)ceil((double)w / block.x), (int)ceil(h / 16.0f));
  k<<<grid, block>>>(p);
  cudaFree(p);
}
// trace -> begin 4000 56, end
// trace 32 -> begin 2560 16, end
