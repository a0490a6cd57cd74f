// burn SECONDS: computes as hard as it can.
#include <cstdio>
#include <cstdlib>
#include <ctime>
__global__ void spin(float *p, int n) { float x = p[threadIdx.x]; for (int i = 0; i < n; i++) x = x * 1.0001f + 0.5f; p[blockIdx.x * blockDim.x + threadIdx.x] = x; }
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
  int sms = 0; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  float *p; if (cudaMalloc(&p, 1 << 26) != cudaSuccess) return 1;
  double b = now(); long n = 0;
  while (now() - b < atof(argv[1])) { spin<<<16384, 1024>>>(p, 2000); cudaDeviceSynchronize(); n++; }
  timespec t; clock_gettime(CLOCK_REALTIME, &t);
  printf("%ld.%03ld neighbour: %d multiprocessors, %.0f turns/s\n", t.tv_sec % 1000, t.tv_nsec / 1000000, sms, n / (now() - b)); fflush(stdout);
}
