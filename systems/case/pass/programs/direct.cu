// cudaLaunchKernel called by the program itself.
__global__ void k(float *p, int n) {}
int main(int argc, char **) {
  float *p;
  int n = argc;
  cudaMalloc(&p, 1024);
  void *args[] = {&p, &n};
  cudaLaunchKernel((const void *)k, dim3(2), dim3(64), args, 0, 0);
  cudaDeviceSynchronize();
  cudaFree(p);
}
// trace -> begin 1024 4, end
// The stub translates pointers, whoever calls it; the program's own launch is in a static task.
// CHECK-LABEL: define {{.*}}__device_stub__k
// CHECK: call i32 @case_lazy_launch({{.*}}, i32 2, ptr
// CHECK-LABEL: define {{.*}}@main(
// CHECK: call i32 @case_task_begin(
// CHECK-NEXT: call i32 @cudaMalloc
// CHECK: call i32 @cudaLaunchKernel
