// The release is asynchronous, and the program waits for it: the end comes after that.
__global__ void k(float *p) { p[threadIdx.x] = 1; }
int main(int argc, char **) {
  cudaStream_t s;
  float *p;
  cudaStreamCreate(&s);
  cudaMallocAsync((void **)&p, argc * 1024, s);
  k<<<1, 64, 0, s>>>(p);
  cudaFreeAsync(p, s);
  if (argc > 1) cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}
// trace -> begin 1024 2, end
// trace 1 -> begin 2048 2, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @case_task_begin(
// CHECK-NEXT: call i32 @cudaStreamCreate
// CHECK: call i32 @cudaFreeAsync
// CHECK-NOT: case_task_end
// CHECK: br i1
