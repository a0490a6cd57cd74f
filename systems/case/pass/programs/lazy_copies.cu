// Calls without a wrapper of their own get real pointers, each as the first use of memory that is pending.
#include <cstdlib>
__device__ float symbol[64];
int main(int argc, char **argv) {
  float host[64] = {0};
  float **table = (float **)malloc(sizeof(float *));
  cudaMalloc(&table[0], 256);
  cudaError_t done = cudaErrorUnknown;
  cudaPointerAttributes found;
  switch (atoi(argv[1])) {
    case 1: done = cudaMemcpy2DAsync(table[0], 64, host, 64, 64, 4, cudaMemcpyHostToDevice); break;
    case 2: done = cudaMemcpy2DAsync(host, 64, table[0], 64, 64, 4, cudaMemcpyDeviceToHost); break;
    case 3: done = cudaMemcpyPeer(table[0], 0, table[0] + 32, 0, 128); break;
    case 4: done = cudaMemcpyToSymbolAsync(symbol, table[0], 256, 0, cudaMemcpyDeviceToDevice); break;
    case 5: done = cudaMemcpyFromSymbolAsync(table[0], symbol, 256, 0, cudaMemcpyDeviceToDevice); break;
    case 6: done = cudaMemset2D(table[0], 64, 0, 64, 4); break;
    case 7: done = cudaMemPrefetchAsync(table[0], 256, 0); break;
    case 8: done = cudaMemAdvise(table[0] + 1, 252, cudaMemAdviseSetReadMostly, 0); break;
    case 9:
      done = cudaPointerGetAttributes(&found, table[0]);
      if (found.type != cudaMemoryTypeDevice) done = cudaErrorUnknown;
  }
  cudaFree(table[0]);
  free(table);
  return done;
}
// trace 1 -> begin 256 0, end
// trace 2 -> begin 256 0, end
// trace 3 -> begin 256 0, end
// trace 4 -> begin 256 0, end
// trace 5 -> begin 256 0, end
// trace 6 -> begin 256 0, end
// trace 7 -> begin 256 0, end
// trace 8 -> begin 256 0, end
// trace 9 -> begin 256 0, end
