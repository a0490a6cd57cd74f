// The driver is touched before the first allocation, all in a function to which main hands sizes by value.
#include <cstdio>
#include <cstdlib>
#include "boxes.h"
__global__ void kernel(dims d, box *boxes, four *r, float *q, four *f) {}
static void check(const char *message) {
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    printf("Cuda error: %s: %s.\n", message, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
}
extern "C" void gpu_part(dims d, box *boxes, four *r, float *q, four *f) {
  cudaThreadSynchronize();
  box *d_boxes;
  four *d_r, *d_f;
  float *d_q;
  dim3 threads, blocks;
  blocks.x = d.boxes;
  blocks.y = 1;
  threads.x = 128;
  threads.y = 1;
  cudaMalloc((void **)&d_boxes, d.box_mem);
  cudaMalloc((void **)&d_r, d.space_mem);
  cudaMalloc((void **)&d_q, d.space_mem2);
  cudaMalloc((void **)&d_f, d.space_mem);
  cudaMemcpy(d_boxes, boxes, d.box_mem, cudaMemcpyHostToDevice);
  cudaMemcpy(d_r, r, d.space_mem, cudaMemcpyHostToDevice);
  cudaMemcpy(d_q, q, d.space_mem2, cudaMemcpyHostToDevice);
  cudaMemcpy(d_f, f, d.space_mem, cudaMemcpyHostToDevice);
  kernel<<<blocks, threads>>>(d, d_boxes, d_r, d_q, d_f);
  check("kernel");
  cudaThreadSynchronize();
  cudaMemcpy(f, d_f, d.space_mem, cudaMemcpyDeviceToHost);
  cudaFree(d_r);
  cudaFree(d_q);
  cudaFree(d_f);
  cudaFree(d_boxes);
}
// files main.c gpu.cu
// trace -> begin 29760 32, end
// trace -boxes1d 5 -> begin 465000 500, end
// trace -boxes1d 0 ->
