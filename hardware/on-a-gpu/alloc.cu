#include <cstdio>
#include <cstdlib>
#include <ctime>
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2000; void *p; cudaFree(0);
  double b = now(); for (int i = 0; i < n; i++) { if (cudaMalloc(&p, 1 << 22) != cudaSuccess) return 1; cudaFree(p); }
  double e = now(); printf("%s: %.1f us for a cudaMalloc of 4 MiB and its cudaFree\n", argc > 2 ? argv[2] : "", (e - b) / n * 1e6);
}
