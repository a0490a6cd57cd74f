// A loop with break and continue between allocation and release.
#include <cstdlib>
__global__ void k(float *p) {}
int main(int argc, char **argv) {
  int turns = argc > 1 ? atoi(argv[1]) : 5;
  for (int i = 0; i < turns; i++) {
    float *p;
    if (cudaMalloc(&p, 256 * (i + 1)) != cudaSuccess) break;
    if (i == 1) {
      cudaFree(p);
      continue;
    }
    k<<<i + 1, 32>>>(p);
    cudaDeviceSynchronize();
    cudaFree(p);
    if (i == 3) break;
  }
}
// trace -> begin 256 1, end, begin 512 2, end, begin 768 3, end, begin 1024 4, end
// trace 0 ->
// trace 1 -> begin 256 1, end
// trace fail=2 -> begin 256 1, end, begin 512 2, end
