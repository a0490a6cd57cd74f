// client SECONDS BYTES: what a client of MPS sees, and whether it gets so much memory.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
int main(int argc, char **argv) {
  int sms = 0;
  cudaError_t told = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  void *p = nullptr;
  cudaError_t got = cudaMalloc(&p, (size_t)atof(argv[2]));
  printf("%d multiprocessors (%s), %s bytes: %s\n", sms, cudaGetErrorName(told), argv[2], cudaGetErrorName(got));
  fflush(stdout);
  sleep(atoi(argv[1]));
}
