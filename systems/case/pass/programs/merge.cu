// Two kernels with nothing in common, but the second buffer is allocated while the first is held: one task.
__global__ void k(float *p) { p[threadIdx.x] = 1; }
int main(int argc, char **) {
  float *p, *q;
  cudaMalloc(&p, argc * 1024);
  k<<<1, 64>>>(p);
  cudaMalloc(&q, argc * 2048);
  cudaFree(p);
  k<<<2, 96>>>(q);
  cudaFree(q);
}
// trace -> begin 3072 6, end
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @case_task_begin(i64 {{[0-9]+}}, i64 %{{[^,]+}}, i64 6, i32 4)
// CHECK-NOT: case_task
// CHECK: call i32 @cudaMalloc
// CHECK: call i32 @cudaMalloc
// CHECK-COUNT-2: call i32 @cudaFree
// CHECK-NEXT: call i32 @case_task_end(
// CHECK-NOT: case_task
// CHECK: ret i32 0
