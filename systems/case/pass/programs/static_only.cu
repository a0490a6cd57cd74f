// An allocation from a pool and a cooperative launch have no wrapper, and need none in a static task.
__global__ void k(float *p) {}
int main(int argc, char **) {
  float *p;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocFromPoolAsync(&p, argc * 512, 0, stream);
  void *args[] = {&p};
  cudaLaunchCooperativeKernel((const void *)k, 4, 64, args, 0, stream);
  cudaFreeAsync(p, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
// trace -> begin 512 8, end
// trace 1 -> begin 1024 8, end
