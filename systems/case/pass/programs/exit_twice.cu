// A function with checks that exit, called twice: two tasks, of which the first ends before the second begins.
#include <cstdio>
#include <cstdlib>
#define CHECK(call)                                                                                                      \
  do {                                                                                                                   \
    cudaError_t e = call;                                                                                                \
    if (e != cudaSuccess) {                                                                                              \
      fprintf(stderr, "%s\n", cudaGetErrorString(e));                                                                    \
      exit(3);                                                                                                           \
    }                                                                                                                    \
  } while (0)
__global__ void k(float *p) { p[threadIdx.x] = 1; }
void work(int n) {
  float *p;
  CHECK(cudaMalloc(&p, n * 4));
  k<<<n / 64, 64>>>(p);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(p));
}
int main(int argc, char **) {
  work(1024);
  work(argc * 2048);
}
// trace -> begin 4096 32, end, begin 8192 64, end
// trace fail=1 -> exit 3, begin 4096 32, end
// trace fail=2 -> exit 3, begin 4096 32, end, begin 8192 64, end
