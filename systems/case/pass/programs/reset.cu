// Nothing is freed, but the device is reset: the task ends there.
__global__ void k(float *p) {}
int main(int argc, char **) {
  float *p, *q;
  cudaMalloc(&p, 1024);
  cudaMalloc(&q, argc * 1024);
  k<<<1, 32>>>(p);
  k<<<1, 32>>>(q);
  cudaDeviceReset();
  float *r;
  cudaMalloc(&r, 512);
  k<<<1, 32>>>(r);
  cudaFree(r);
}
// trace -> begin 2048 1, end, begin 512 1, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @cudaDeviceReset
// CHECK-NEXT: call i32 @case_task_end(
// CHECK-NOT: call i32 @cuda
// CHECK: call i32 @case_task_begin(i64 {{[0-9]+}}, i64 512, i64 1, i32 4)
// CHECK: call i32 @case_init(i64 512, i32 0)
