// Pointers in a structure that is passed by value.
#include <cstdio>
struct Grid {
  float *now, *next;
  int width;
};
__global__ void step(Grid g) { g.next[threadIdx.x] = g.now[threadIdx.x] + g.width; }
int main(int argc, char **) {
  Grid g;
  g.width = argc * 16;
  cudaMalloc(&g.now, g.width * sizeof(float));
  cudaMalloc(&g.next, g.width * sizeof(float));
  step<<<g.width / 16, 16>>>(g);
  cudaFree(g.now);
  cudaFree(g.next);
  printf("%d\n", g.width);
}
// trace -> begin 128 1, end
