// One place to clear up, reached from every failure by goto, with pointers that may still be null.
__global__ void k(float *p, float *q) {}
int main(int argc, char **) {
  float *p = nullptr, *q = nullptr;
  int status = 1;
  if (cudaMalloc(&p, 4096) != cudaSuccess) goto done;
  if (cudaMalloc(&q, argc * 4096) != cudaSuccess) goto done;
  k<<<4, 256>>>(p, q);
  if (cudaDeviceSynchronize() != cudaSuccess) goto done;
  status = 0;
done:
  cudaFree(p);
  cudaFree(q);
  return status;
}
// trace -> begin 8192 32, end
// trace 1 -> begin 12288 32, end
// trace fail=1 -> exit 1, begin 8192 32, end
// trace fail=2 -> exit 1, begin 8192 32, end
