// Buffers in unique_ptr with a deleter of their own.
#include <cstdlib>
#include <memory>
__global__ void k(const float *in, float *out, int n) {}
struct Freer {
  void operator()(float *p) const { cudaFree(p); }
};
using Buffer = std::unique_ptr<float, Freer>;
static Buffer device(size_t n) {
  float *p = nullptr;
  if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) throw std::bad_alloc();
  return Buffer(p);
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  Buffer a = device(n), b = device(n);
  k<<<(n + 127) / 128, 128>>>(a.get(), b.get(), n);
  cudaDeviceSynchronize();
}
// trace -> begin 8000 32, end
