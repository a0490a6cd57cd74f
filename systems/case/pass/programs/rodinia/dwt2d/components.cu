// Parts an image into its colours: a buffer of its own, in a file of its own.
#include "image.h"
template <class T> __global__ void part(T *red, T *green, T *blue, unsigned char *pixels, int n) {}
template <class T> void split(T *red, T *green, T *blue, unsigned char *pixels, int width, int height) {
  unsigned char *d_pixels;
  int n = width * height;
  cudaMalloc((void **)&d_pixels, 3 * n);
  CHECK();
  cudaMemcpy(d_pixels, pixels, 3 * n, cudaMemcpyHostToDevice);
  part<<<(n + 255) / 256, 256>>>(red, green, blue, d_pixels, n);
  CHECK();
  cudaFree(d_pixels);
}
template void split<float>(float *, float *, float *, unsigned char *, int, int);
template void split<int>(int *, int *, int *, unsigned char *, int, int);
