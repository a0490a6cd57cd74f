// One variable, allocated and freed each turn of a loop inside a task that another buffer spans: the largest counts,
// and the first if there is no turn.
#include <cstdlib>
__global__ void k(float *p, float *q) {}
int main(int argc, char **argv) {
  int turns = argc > 1 ? atoi(argv[1]) : 3;
  float *p, *q;
  cudaMalloc(&p, 1000);
  for (int i = 0; i < turns; i++) {
    cudaMalloc(&q, (i + 1) * 100);
    k<<<turns - i, 32>>>(p, q);
    cudaFree(q);
  }
  cudaFree(p);
}
// trace -> begin 1300 3, end
// trace 0 -> begin 1100 0, end
// trace 5 -> begin 1500 5, end
