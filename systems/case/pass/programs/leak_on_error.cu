// On one path a buffer is left behind: there the memory is held to the end of the process, and so is the task.
#include <cstdlib>
__global__ void k(float *p, float *q) {}
static int work(int n) {
  float *p, *q;
  if (cudaMalloc(&p, n) != cudaSuccess) return 1;
  if (cudaMalloc(&q, n) != cudaSuccess) return 2;
  k<<<1, 32>>>(p, q);
  cudaFree(p);
  cudaFree(q);
  return 0;
}
int main(int argc, char **) { return work(argc * 1024); }
// trace -> begin 2048 1, end
// trace fail=1 -> exit 1, begin 2048 1, end
// trace fail=2 -> exit 2, begin 2048 1, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @case_task_begin(
// CHECK: call i32 @case_task_end(
// CHECK-LABEL: define internal void @mapa_case_module_init
// CHECK: call i32 @case_init(i64 0, i32 0)
