// The grid is the loop's variable: up to the matrix's width in blocks, then down again.
#include <cstdio>
#include <cstdlib>
#define BLOCK 16
__global__ void needle_1(int *ref, int *items, int cols, int penalty, int i, int width) {}
__global__ void needle_2(int *ref, int *items, int cols, int penalty, int i, int width) {}
static void run(int argc, char **argv) {
  int rows = 128, penalty = 10;
  if (argc == 2) {
    rows = atoi(argv[1]);
  } else if (argc != 1) {
    fprintf(stderr, "Usage: %s [SIZE]\n", argv[0]);
    exit(1);
  }
  if (rows % 16 != 0) {
    fprintf(stderr, "SIZE: expected a multiple of 16\n");
    exit(1);
  }
  rows = rows + 1;
  int cols = rows, size = rows * cols;
  int *ref = (int *)malloc(size * sizeof(int)), *items = (int *)malloc(size * sizeof(int));
  for (int i = 0; i < size; i++) ref[i] = items[i] = rand() % 10;
  int *d_ref, *d_items;
  cudaMalloc((void **)&d_ref, sizeof(int) * size);
  cudaMalloc((void **)&d_items, sizeof(int) * size);
  cudaMemcpy(d_ref, ref, sizeof(int) * size, cudaMemcpyHostToDevice);
  cudaMemcpy(d_items, items, sizeof(int) * size, cudaMemcpyHostToDevice);
  dim3 grid;
  dim3 block(BLOCK, 1);
  int width = (cols - 1) / BLOCK;
  for (int i = 1; i <= width; i++) {
    grid.x = i;
    grid.y = 1;
    needle_1<<<grid, block>>>(d_ref, d_items, cols, penalty, i, width);
  }
  for (int i = width - 1; i >= 1; i--) {
    grid.x = i;
    grid.y = 1;
    needle_2<<<grid, block>>>(d_ref, d_items, cols, penalty, i, width);
  }
  cudaMemcpy(items, d_items, sizeof(int) * size, cudaMemcpyDeviceToHost);
  cudaFree(d_ref);
  cudaFree(d_items);
  free(ref);
  free(items);
}
int main(int argc, char **argv) {
  run(argc, argv);
  return EXIT_SUCCESS;
}
// files needle.cu
// trace -> begin 133128 8, end
// trace 256 -> begin 528392 16, end
// trace 16 -> begin 2312 1, end
// trace 7 -> exit 1
