// Work of the host between allocation and launch, in a loop; sizes from arguments.
#include <cstdio>
#include <cstdlib>
#define BLOCK 16
__global__ void srad_1(float *e, float *w, float *j, float *c, int cols, int rows, float q0) {}
__global__ void srad_2(float *e, float *w, float *j, float *c, int cols, int rows, float lambda, float q0) {}
static void usage(char **argv) {
  fprintf(stderr, "Usage: %s rows cols turns\n", argv[0]);
  exit(1);
}
static void random_matrix(float *m, int rows, int cols) {
  srand(7);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) m[i * cols + j] = rand() / (float)RAND_MAX;
}
static void run(int argc, char **argv) {
  int rows = 64, cols = 64, turns = 2;
  if (argc == 4) {
    rows = atoi(argv[1]);
    cols = atoi(argv[2]);
    turns = atoi(argv[3]);
    if (rows % 16 != 0 || cols % 16 != 0) {
      fprintf(stderr, "rows and cols must be multiples of 16\n");
      exit(1);
    }
  } else if (argc != 1) {
    usage(argv);
  }
  int size = rows * cols;
  float *I = (float *)malloc(size * sizeof(float)), *J = (float *)malloc(size * sizeof(float));
  float *d_j, *d_c, *d_e, *d_w;
  cudaMalloc((void **)&d_j, sizeof(float) * size);
  cudaMalloc((void **)&d_c, sizeof(float) * size);
  cudaMalloc((void **)&d_e, sizeof(float) * size);
  cudaMalloc((void **)&d_w, sizeof(float) * size);
  random_matrix(I, rows, cols);
  for (int k = 0; k < size; k++) J[k] = I[k] * 2;
  for (int turn = 0; turn < turns; turn++) {
    float sum = 0;
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < cols; j++) sum += J[i * cols + j];
    dim3 block(BLOCK, BLOCK);
    dim3 grid(cols / BLOCK, rows / BLOCK);
    cudaMemcpy(d_j, J, sizeof(float) * size, cudaMemcpyHostToDevice);
    srad_1<<<grid, block>>>(d_e, d_w, d_j, d_c, cols, rows, sum);
    srad_2<<<grid, block>>>(d_e, d_w, d_j, d_c, cols, rows, 0.5f, sum);
    cudaMemcpy(J, d_j, sizeof(float) * size, cudaMemcpyDeviceToHost);
  }
  cudaThreadSynchronize();
  cudaFree(d_c);
  cudaFree(d_j);
  cudaFree(d_e);
  cudaFree(d_w);
  free(I);
  free(J);
}
int main(int argc, char **argv) {
  run(argc, argv);
  return EXIT_SUCCESS;
}
// files srad.cu
// trace -> begin 65536 128, end
// trace 32 64 5 -> begin 32768 64, end
// trace 32 64 0 -> begin 32768 64, end
// trace 30 64 5 -> exit 1
// trace 1 -> exit 1
