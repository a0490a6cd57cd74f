// Counters of which no largest size is known: by a negative factor the smallest is the largest, and a test that only some turns pass bounds none.
#include <cstdio>
#include <cstdlib>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 3;
  char *a, *b, *p, *q;
  cudaMalloc(&a, 100);
  cudaMemset(a, 0, 1);
  for (int i = -n; i < 0; i++) {
    cudaMalloc(&p, i * -4);
    cudaFree(p);
  }
  cudaFree(a);
  cudaMalloc(&b, 100);
  cudaMemset(b, 0, 1);
  for (int i = 0;;) {
    int next = i + 1;
    if (argc == 1) {
      puts("tested");
      if (next >= n) break;
    }
    if (next > atoi("4")) break;
    cudaMalloc(&q, i * 10);
    cudaFree(q);
    i = next;
  }
  cudaFree(b);
}
// trace 2 -> begin 100 0, extend 8 0, extend 4 0, end, begin 100 0, extend 10 0, extend 20 0, extend 30 0, end
