// Two threads with a task each.
#include <thread>
__global__ void k(float *p) {}
static void work(int n) {
  float *p;
  cudaMalloc(&p, n * 1024);
  k<<<n, 32>>>(p);
  cudaFree(p);
}
int main(int argc, char **) {
  std::thread a(work, 1);
  a.join();
  std::thread b(work, 2);
  b.join();
}
// trace -> begin 1024 1, end, begin 2048 2, end
// CHECK: call i32 @case_init(i64 0, i32 1)
