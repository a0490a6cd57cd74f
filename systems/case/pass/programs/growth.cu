// Code of another file is called inside a task, which may have tasks of its own: the process says before the first that it may ask for more while it holds.
__global__ void k(float *p) {}
extern "C" void note(int n);
extern "C" void note(int) __attribute__((weak));
int main(int argc, char **) {
  float *p;
  cudaMalloc(&p, 1024);
  k<<<2, 32>>>(p);
  if (note) note(argc);
  cudaFree(p);
}
// trace -> begin 1024 2, end
// CHECK: call i32 @case_init(i64 1024, i32 1)
