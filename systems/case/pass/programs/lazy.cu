// Pointers in memory that is not followed: every call becomes a wrapper, and what an unknown function is given is a real pointer.
#include <cstdlib>
__global__ void k(float *p) {}
extern "C" void note(void *p);
extern "C" void note(void *) __attribute__((weak));
int main(int argc, char **) {
  float **table = (float **)malloc(2 * sizeof(float *));
  cudaMalloc(&table[0], 256);
  cudaMalloc(&table[1], argc * 256);
  k<<<2, 32>>>(table[1]);
  if (note) note(table[1]);
  cudaFree(table[0]);
  cudaFree(table[1]);
  free(table);
}
// trace -> begin 512 2, end
// trace 1 -> begin 768 2, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK-NOT: case_task_begin
// CHECK: call i32 @case_lazy_malloc(
// CHECK: call i32 @case_lazy_malloc(
// CHECK: call ptr @case_lazy_resolve(
// CHECK: call void @note
// CHECK: call i32 @case_lazy_free(
// CHECK: call i32 @case_init(i64 0, i32 1)
