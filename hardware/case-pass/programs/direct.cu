// cudaLaunchKernel called by the program itself.
__global__ void k(float *p, int n) {}
int main(int argc, char **) {
  float *p;
  int n = argc;
  cudaMalloc(&p, 1024);
  void *args[] = {&p, &n};
  cudaLaunchKernel((const void *)k, dim3(2), dim3(64), args, 0, 0);
  cudaDeviceSynchronize();
  cudaFree(p);
}
// trace -> begin 1024 4, end
