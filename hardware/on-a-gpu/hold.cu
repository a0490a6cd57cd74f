// hold BYTES SECONDS [PARTS]: takes memory in parts, fills and checks it, holds it, gives it back.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>
__global__ void fill(unsigned *p, size_t n, unsigned v) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) p[i] = v ^ (unsigned)i;
}
__global__ void check(const unsigned *p, size_t n, unsigned v, unsigned *bad) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x)
    if (p[i] != (v ^ (unsigned)i)) atomicAdd(bad, 1);
}
static double now() { timespec t; clock_gettime(CLOCK_REALTIME, &t); return t.tv_sec % 1000 + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
  setlinebuf(stdout);
  double bytes = argc > 1 ? atof(argv[1]) : 1e6, secs = argc > 2 ? atof(argv[2]) : 0;
  int parts = argc > 3 ? atoi(argv[3]) : 2;
  size_t each = (size_t)(bytes / parts) / 4 * 4;
  printf("%.3f %d asks for %.3g\n", now(), getpid(), bytes);
  std::vector<unsigned *> all;
  for (int i = 0; i < parts; i++) {
    unsigned *p = nullptr;
    cudaError_t e = cudaMalloc(&p, each);
    if (e != cudaSuccess) { printf("%.3f %d part %d: %s\n", now(), getpid(), i, cudaGetErrorName(e)); return 3; }
    fill<<<264, 256>>>(p, each / 4, 0x9e3779b9u * (i + 1));
    all.push_back(p);
  }
  unsigned *bad, count = 1;
  if (cudaMalloc(&bad, 4) != cudaSuccess) return 4;
  cudaMemset(bad, 0, 4);
  for (int i = 0; i < parts; i++) check<<<264, 256>>>(all[i], each / 4, 0x9e3779b9u * (i + 1), bad);
  cudaError_t e = cudaMemcpy(&count, bad, 4, cudaMemcpyDeviceToHost);
  size_t free_, total; cudaMemGetInfo(&free_, &total);
  printf("%.3f %d has it: %u bad, %s, free %.3g, on %s\n", now(), getpid(), count, cudaGetErrorName(e), (double)free_, getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "all");
  usleep((useconds_t)(secs * 1e6));
  for (auto p : all) cudaFree(p);
  cudaFree(bad);
  printf("%.3f %d gave it back: %s\n", now(), getpid(), cudaGetErrorName(cudaGetLastError()));
  return count ? 5 : 0;
}
