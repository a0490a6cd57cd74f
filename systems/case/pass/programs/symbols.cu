// A kernel without any buffer, and a constant: a task without memory, which the launch still needs.
// The loop holds all of it, so it is one a turn.
__constant__ float table[16];
__device__ float result[16];
__global__ void k() { result[threadIdx.x] = table[threadIdx.x]; }
int main(int argc, char **) {
  float host[16] = {0};
  cudaMemcpyToSymbol(table, host, sizeof host);
  for (int i = 0; i < argc; i++) k<<<1, 16>>>();
  cudaMemcpyFromSymbol(host, result, sizeof host);
  return host[0] != 0;
}
// trace -> begin 0 1, end
// trace 1 -> begin 0 1, end, begin 0 1, end
