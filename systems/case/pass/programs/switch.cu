// A switch between ways of work, each with buffers of its own, some leaving the function. The begin is at the switch, so the
// ways without an operation begin and end at once.
#include <cstdlib>
__global__ void k(float *p) {}
static int run(int way) {
  float *p, *q;
  switch (way) {
  case 0:
    return 5;
  case 1:
    cudaMalloc(&p, 100);
    k<<<1, 32>>>(p);
    cudaFree(p);
    break;
  case 2:
    cudaMalloc(&p, 200);
    // falls through
  case 3:
    cudaMalloc(&q, 300);
    k<<<2, 32>>>(q);
    cudaFree(q);
    if (way == 2) {
      k<<<3, 32>>>(p);
      cudaFree(p);
      return 6;
    }
    break;
  default:
    exit(7);
  }
  return 0;
}
int main(int argc, char **argv) { return run(argc > 1 ? atoi(argv[1]) : 0); }
// trace 0 -> exit 5, begin 500 3, end
// trace 1 -> begin 500 3, end
// trace 2 -> exit 6, begin 500 3, end
// trace 3 -> begin 500 3, end
// trace 4 -> exit 7, begin 500 3, end
