// The last operation is asynchronous and nothing waits: the pass synchronises before the end.
__global__ void k(float *p) { p[threadIdx.x] = 1; }
int main(int argc, char **) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  for (int i = 0; i < argc; i++) {
    float *p;
    cudaMallocAsync((void **)&p, 1024, s);
    k<<<1, 64, 0, s>>>(p);
    cudaFreeAsync(p, s);
  }
  cudaStreamDestroy(s);
}
// trace -> begin 1024 2, end
// trace 1 2 -> begin 1024 2, end, begin 1024 2, end, begin 1024 2, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @cudaStreamCreate
// CHECK: call i32 @case_task_begin(i64 {{[0-9]+}}, i64 1024, i64 2, i32 4)
// CHECK-NEXT: call i32 @cudaMallocAsync
// CHECK: call i32 @cudaFreeAsync
// CHECK-NEXT: call i32 @cudaDeviceSynchronize
// CHECK-NEXT: call i32 @case_task_end(
// CHECK: call i32 @cudaStreamDestroy
