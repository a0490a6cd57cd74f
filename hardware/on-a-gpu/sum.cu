// A static task: sums that are checked.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
static int once(int n, const float *x, float *y) {
  float *a, *b, *c;
  if (cudaMalloc(&a, n * sizeof(float)) != cudaSuccess) return 1;
  cudaMalloc(&b, n * sizeof(float));
  cudaMalloc(&c, n * sizeof(float));
  cudaMemcpy(a, x, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, x, n * sizeof(float), cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  cudaMemcpy(y, c, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  return 0;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20, turns = argc > 2 ? atoi(argv[2]) : 3;
  float *x = (float *)malloc(n * sizeof(float)), *y = (float *)malloc(n * sizeof(float));
  for (int i = 0; i < n; i++) x[i] = i % 1000;
  long wrong = 0;
  for (int t = 0; t < turns; t++) {
    if (once(n, x, y)) return 1;
    for (int i = 0; i < n; i++) wrong += y[i] != 2 * x[i];
  }
  printf("%d sums of %d, %ld wrong, %s\n", turns, n, wrong, cudaGetErrorName(cudaGetLastError()));
  return wrong != 0;
}
