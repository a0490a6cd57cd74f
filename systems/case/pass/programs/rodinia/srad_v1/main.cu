// The driver is touched first; then sizes from arguments, checks that exit, nested loops and a reduction of which the grid shrinks.
#include <cstdio>
#include <cstdlib>
#define THREADS 512
__global__ void extract(long n, float *image) {}
__global__ void prepare(long n, float *image, float *sums, float *sums2) {}
__global__ void reduce(long n, int no, int mul, float *sums, float *sums2) {}
__global__ void srad(float lambda, int rows, int cols, long n, int *north, int *south, float *dn, float q0, float *c, float *image) {}
static void check(const char *message) {
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    printf("Cuda error: %s: %s.\n", message, cudaGetErrorString(error));
    fflush(NULL);
    exit(EXIT_FAILURE);
  }
}
int main(int argc, char **argv) {
  cudaThreadSynchronize();
  int turns = 2, rows = 100, cols = 60;
  if (argc == 4) {
    turns = atoi(argv[1]);
    rows = atoi(argv[2]);
    cols = atoi(argv[3]);
  } else if (argc != 1) {
    printf("ERROR: wrong number of arguments\n");
    return 0;
  }
  long n = (long)rows * cols;
  float *image = (float *)malloc(sizeof(float) * n);
  for (long i = 0; i < n; i++) image[i] = i;
  int *north = (int *)malloc(sizeof(int) * rows), *south = (int *)malloc(sizeof(int) * rows);
  for (int i = 0; i < rows; i++) {
    north[i] = i - 1;
    south[i] = i + 1;
  }
  float *d_image, *d_sums, *d_sums2, *d_dn, *d_c;
  int *d_north, *d_south;
  cudaMalloc((void **)&d_image, sizeof(float) * n);
  cudaMalloc((void **)&d_north, sizeof(int) * rows);
  cudaMemcpy(d_north, north, sizeof(int) * rows, cudaMemcpyHostToDevice);
  cudaMalloc((void **)&d_south, sizeof(int) * rows);
  cudaMemcpy(d_south, south, sizeof(int) * rows, cudaMemcpyHostToDevice);
  cudaMalloc((void **)&d_sums, sizeof(float) * n);
  cudaMalloc((void **)&d_sums2, sizeof(float) * n);
  cudaMalloc((void **)&d_dn, sizeof(float) * n);
  cudaMalloc((void **)&d_c, sizeof(float) * n);
  check("setup");
  dim3 threads, blocks, blocks2;
  threads.x = THREADS;
  threads.y = 1;
  int blocks_x = n / threads.x;
  if (n % threads.x != 0) blocks_x = blocks_x + 1;
  blocks.x = blocks_x;
  blocks.y = 1;
  cudaMemcpy(d_image, image, sizeof(float) * n, cudaMemcpyHostToDevice);
  extract<<<blocks, threads>>>(n, d_image);
  check("extract");
  for (int turn = 0; turn < turns; turn++) {
    prepare<<<blocks, threads>>>(n, d_image, d_sums, d_sums2);
    check("prepare");
    blocks2.x = blocks.x;
    blocks2.y = blocks.y;
    int no = n, mul = 1;
    while (blocks2.x != 0) {
      check("before reduce");
      reduce<<<blocks2, threads>>>(n, no, mul, d_sums, d_sums2);
      check("reduce");
      no = blocks2.x;
      if (blocks2.x == 1) {
        blocks2.x = 0;
      } else {
        mul = mul * THREADS;
        blocks_x = blocks2.x / threads.x;
        if (blocks2.x % threads.x != 0) blocks_x = blocks_x + 1;
        blocks2.x = blocks_x;
        blocks2.y = 1;
      }
    }
    float total;
    cudaMemcpy(&total, d_sums, sizeof(float), cudaMemcpyDeviceToHost);
    srad<<<blocks, threads>>>(0.5f, rows, cols, n, d_north, d_south, d_dn, total / n, d_c, d_image);
    check("srad");
  }
  cudaThreadSynchronize();
  cudaMemcpy(image, d_image, sizeof(float) * n, cudaMemcpyDeviceToHost);
  cudaFree(d_image);
  cudaFree(d_sums);
  cudaFree(d_sums2);
  cudaFree(d_north);
  cudaFree(d_south);
  cudaFree(d_dn);
  cudaFree(d_c);
  free(image);
  free(north);
  free(south);
}
// files main.cu
// trace -> begin 120800 192, end
// trace 0 100 60 -> begin 120800 192, end
// trace 5 512 512 -> begin 5246976 8192, end
// trace 1 ->
