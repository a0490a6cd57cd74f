// Behind its loop a counter is one step further than in the last turn; without any turn it is where it began.
#include <cstdlib>
static const char *most = "1000";
static bool ok(int i) { return i < atoi(most); }
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 10;
  if (argc > 2) most = argv[2];
  int i;
  char *p, *a, *b, *c, *d;
  cudaMalloc(&a, 1000);
  for (i = 5; i < n && ok(i); i++) {
  }
  cudaMalloc(&p, i * 4);
  cudaFree(p);
  cudaFree(a);
  // By larger steps.
  char *q;
  cudaMalloc(&b, 1000);
  for (i = 0; i < n && ok(i); i += 3) {
  }
  cudaMalloc(&q, i * 4);
  cudaFree(q);
  cudaFree(b);
  // Downwards.
  char *r;
  cudaMalloc(&c, 1000);
  for (i = n; i > 0 && ok(n - i); i--) {
  }
  cudaMalloc(&r, (n - i) * 4);
  cudaFree(r);
  cudaFree(c);
  // Inside, before the test.
  char *s;
  cudaMalloc(&d, 1000);
  i = 1;
  do {
    cudaMalloc(&s, i * 4);
    cudaFree(s);
  } while (i++ < n);
  cudaFree(d);
}
// trace -> begin 1040 0, end, begin 1048 0, end, begin 1040 0, end, begin 1040 0, end
// trace 3 -> begin 1020 0, end, begin 1012 0, end, begin 1012 0, end, begin 1012 0, end
// trace -2 -> begin 1020 0, end, begin 1000 0, end, begin 1000 0, end, begin 1004 0, end
// trace 10 4 -> begin 1040 0, end, begin 1048 0, end, begin 1040 0, end, begin 1040 0, end
