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
