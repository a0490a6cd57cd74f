// The driver is reached before a loop of tasks: the begin cannot go there, for it is one task a turn.
#include <cstdlib>
__global__ void k(float *p) {}
int main(int argc, char **argv) {
  cudaSetDevice(0);
  for (int i = 0; i < argc; i++) {
    float *p;
    cudaMalloc(&p, 1024);
    k<<<1, 32>>>(p);
    cudaFree(p);
  }
}
// trace -> begin 1024 1, end
// trace 1 -> begin 1024 1, end, begin 1024 1, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call void @case_lazy_touch()
// CHECK-NEXT: call i32 @cudaSetDevice
// CHECK: call i32 @case_task_begin(
// CHECK-NEXT: call i32 @cudaMalloc
// CHECK: call i32 @cudaFree
// CHECK-NEXT: call i32 @case_task_end(
