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
