// A static task ends right before a launch that becomes lazy, for its parameters are in memory that is not followed. The end stands before a call that the pass replaces by another.
#include <cstdlib>
__global__ void one(float *p) {}
int main(int argc, char **argv) {
  float **table = (float **)calloc(1, sizeof(float *));
  void **args = (void **)malloc(sizeof(void *));
  args[0] = table;
  const void *kernel = (const void *)one;
  dim3 grid(2), block(64);
  float *p;
  cudaMalloc(&p, 1024);
  one<<<4, 32>>>(p);
  cudaFree(p);
  cudaLaunchKernel(kernel, grid, block, args, 0, 0);
  free(args);
  free(table);
}
// trace -> begin 1024 4, end, begin 0 4, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @cudaFree(
// CHECK-NEXT: call i32 @case_task_end(
// CHECK-NEXT: call i32 @case_lazy_launch(
// CHECK-NOT: cudaLaunchKernel
// CHECK: ret i32
