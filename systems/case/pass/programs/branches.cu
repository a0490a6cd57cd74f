// Either of two buffers, either of two launches: the larger of each.
__global__ void k(float *p) { p[threadIdx.x] = 1; }
int main(int argc, char **) {
  float *p;
  if (argc > 1)
    cudaMalloc(&p, argc * 8192);
  else
    cudaMalloc(&p, argc * 1024);
  if (argc > 2)
    k<<<argc, 256>>>(p);
  else
    k<<<argc, 64>>>(p);
  cudaFree(p);
}
// trace -> begin 8192 8, end
// trace 1 -> begin 16384 16, end
