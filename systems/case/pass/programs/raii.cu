// A class template that owns a buffer, and an early return.
#include <cstdlib>
#include <utility>
template <class T> class Vec {
  T *data_ = nullptr;
  size_t n_;

public:
  explicit Vec(size_t n) : n_(n) { cudaMalloc(&data_, n * sizeof(T)); }
  ~Vec() { cudaFree(data_); }
  Vec(const Vec &) = delete;
  T *get() const { return data_; }
  size_t size() const { return n_; }
};
__global__ void add(const double *a, const float *b) {}
static int run(int n) {
  Vec<double> a(n);
  Vec<float> b(2 * n);
  if (n > 200) return 1;
  add<<<(a.size() + 31) / 32, 32>>>(a.get(), b.get());
  cudaDeviceSynchronize();
  return 0;
}
int main(int argc, char **argv) { return run(argc > 1 ? atoi(argv[1]) : 100); }
// trace -> begin 1600 4, end
// trace 300 -> exit 1, begin 4800 10, end
