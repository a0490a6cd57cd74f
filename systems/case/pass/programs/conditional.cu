// A buffer that is there only if it is wanted. The second task begins after the first has given back what it had.
__global__ void k(float *p, float *q) { p[threadIdx.x] = q ? q[0] : 0; }
int main(int argc, char **) {
  float *p, *q = nullptr;
  cudaMalloc(&p, 1024);
  if (argc > 1) cudaMalloc(&q, 2048);
  k<<<1, 32>>>(p, q);
  if (q) cudaFree(q);
  cudaFree(p);
  float *r;
  cudaMalloc(&r, 256);
  k<<<1, 32>>>(r, nullptr);
  cudaFree(r);
}
// trace -> begin 3072 1, end, begin 256 1, end
// trace 1 -> begin 3072 1, end, begin 256 1, end
