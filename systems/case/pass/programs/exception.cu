// An exception between allocation and release: the destructor frees, and the task ends on that path too. What follows is a
// task of its own.
#include <stdexcept>
__global__ void k(float *p) { p[threadIdx.x] = 1; }
struct Buffer {
  float *p;
  explicit Buffer(size_t n) { cudaMalloc(&p, n); }
  ~Buffer() { cudaFree(p); }
};
static void check(int n) {
  if (n > 2) throw std::runtime_error("too many");
}
int main(int argc, char **) {
  int caught = 0;
  try {
    Buffer b(4096);
    check(argc);
    k<<<4, 64>>>(b.p);
    check(argc + 1);
  } catch (const std::runtime_error &) {
    caught = 1;
  }
  Buffer c(512);
  k<<<1, 32>>>(c.p);
  return caught;
}
// trace -> begin 4096 8, end, begin 512 1, end
// trace 1 -> exit 1, begin 4096 8, end, begin 512 1, end
// trace 1 2 -> exit 1, begin 4096 8, end, begin 512 1, end
