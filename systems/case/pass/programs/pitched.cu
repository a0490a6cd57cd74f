// Rows with a pitch, pinned memory, events.
#include <cstdio>
__global__ void k(char *p, size_t pitch) {}
int main(int argc, char **) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  char *host, *p;
  size_t pitch;
  int w = argc * 300, h = 7;
  cudaMallocHost(&host, w * h);
  cudaMallocPitch(&p, &pitch, w, h);
  cudaMemcpy2D(p, pitch, host, w, w, h, cudaMemcpyHostToDevice);
  cudaEventRecord(start);
  k<<<h, 64>>>(p, pitch);
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float ms;
  cudaEventElapsedTime(&ms, start, stop);
  cudaMemcpy2D(host, w, p, pitch, w, h, cudaMemcpyDeviceToHost);
  cudaFree(p);
  cudaFreeHost(host);
  printf("%f\n", ms);
}
// trace -> begin 3584 14, end
