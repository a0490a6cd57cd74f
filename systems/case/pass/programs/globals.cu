// Buffers in global variables; functions that set up, run and clear up.
#include <cstdio>
#include <cstdlib>
static float *a, *b;
static int n = 256;
__global__ void k(float *x, float *y) {}
static void setup() {
  cudaMalloc((void **)&a, n * sizeof(float));
  cudaMalloc((void **)&b, n * sizeof(float));
}
static void run() { k<<<n / 32, 32>>>(a, b); }
static void clear() {
  cudaFree(a);
  cudaFree(b);
}
int main(int argc, char **argv) {
  if (argc > 1) n = atoi(argv[1]);
  setup();
  run();
  clear();
  printf("done\n");
}
// trace -> begin 2048 8, end
// trace 512 -> begin 4096 16, end
