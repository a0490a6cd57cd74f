// Host memory in vectors, whose destructors run when an exception passes, before, inside and after the task.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>
__global__ void k(const float *in, float *out, int n) {}
struct Freer {
  void operator()(float *p) const { cudaFree(p); }
};
static std::unique_ptr<float, Freer> device(size_t n) {
  float *p = nullptr;
  if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) throw std::bad_alloc();
  return std::unique_ptr<float, Freer>(p);
}
static void compute(int n) {
  std::vector<float> host(n, 1.0f);
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  k<<<(n + 127) / 128, 128>>>(in, out, n);
  std::vector<float> result(n);
  cudaMemcpy(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  std::string text = "n = " + std::to_string(result.size());
  std::cout << text << std::endl;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  try {
    compute(n);
    compute(2 * n);
  } catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 4;
  }
  return 0;
}
// trace -> begin 8000 32, end, begin 16000 64, end
// trace 100 -> begin 800 4, end, begin 1600 8, end
// trace -1 -> exit 4
