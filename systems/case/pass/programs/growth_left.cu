// A function that other files may call twice leaves memory: the second time the process asks while it holds.
__global__ void k(float *p) {}
void work() {
  float *p;
  cudaMalloc(&p, 1024);
  k<<<2, 32>>>(p);
}
int main() { work(); }
// trace -> begin 1024 2, end
// CHECK: call i32 @case_init(i64 1024, i32 1)
