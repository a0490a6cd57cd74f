// A helper that is not inlined has a task of its own, inside that of its caller.
__global__ void k(float *p) {}
static void halve(int n) {
  if (n <= 1) return;
  float *q;
  cudaMalloc(&q, 512);
  k<<<1, 32>>>(q);
  cudaFree(q);
  halve(n / 2);
}
int main(int argc, char **) {
  float *p;
  cudaMalloc(&p, 1024);
  k<<<2, 32>>>(p);
  halve(argc * 2);
  cudaFree(p);
}
// trace -> begin 1024 2, extend 512 1, end
// CHECK: call i32 @case_init(i64 1024, i32 1)
