// The kernel is chosen at run time.
__global__ void one(float *p) {}
__global__ void two(float *p) {}
int main(int argc, char **) {
  void (*k)(float *) = argc > 1 ? one : two;
  float *p;
  cudaMalloc(&p, 1024);
  k<<<2, 64>>>(p);
  cudaFree(p);
}
// trace -> begin 1024 4, end
// trace 1 -> begin 1024 4, end
