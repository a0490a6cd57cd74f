// Two groups of buffers with work of the host, in another file, between them.
#include <cstdio>
#include <cstdlib>
#include "net.h"
__global__ void forward(float *in, float *weights, float *sums, int n, int hidden) {}
__global__ void change(float *delta, int hidden, float *in, int n, float *weights, float *old) {}
extern "C" void train(struct net *net) {
  int n = net->in, hidden = net->hidden;
  int blocks = n / 16;
  dim3 grid(1, blocks), threads(16, 16);
  size_t weights_size = (size_t)(n + 1) * (hidden + 1) * sizeof(float);
  float *sums = (float *)malloc(blocks * 16 * sizeof(float));
  float *in_gpu, *weights_gpu, *sums_gpu, *delta_gpu, *old_gpu;
  cudaMalloc((void **)&in_gpu, (n + 1) * sizeof(float));
  cudaMalloc((void **)&weights_gpu, weights_size);
  cudaMalloc((void **)&sums_gpu, blocks * 16 * sizeof(float));
  cudaMemcpy(in_gpu, net->units, (n + 1) * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(weights_gpu, net->weights, weights_size, cudaMemcpyHostToDevice);
  forward<<<grid, threads>>>(in_gpu, weights_gpu, sums_gpu, n, hidden);
  cudaThreadSynchronize();
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    printf("forward: %s\n", cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
  cudaMemcpy(sums, sums_gpu, blocks * 16 * sizeof(float), cudaMemcpyDeviceToHost);
  adjust(net, sums, blocks * 16);
  cudaMalloc((void **)&delta_gpu, (hidden + 1) * sizeof(float));
  cudaMalloc((void **)&old_gpu, weights_size);
  change<<<grid, threads>>>(delta_gpu, hidden, in_gpu, n, weights_gpu, old_gpu);
  cudaMemcpy(net->weights, weights_gpu, weights_size, cudaMemcpyDeviceToHost);
  cudaFree(in_gpu);
  cudaFree(weights_gpu);
  cudaFree(sums_gpu);
  cudaFree(delta_gpu);
  cudaFree(old_gpu);
  free(sums);
}
// files main.c train.cu
// trace -> begin 37072 128, end
// trace 512 -> begin 73936 256, end
// trace 7 -> exit 3
