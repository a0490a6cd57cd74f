#ifndef IMAGE_H
#define IMAGE_H
#include <cstdio>
#include <cstdlib>
struct image {
  int width, height, parts, levels;
  unsigned char *pixels;
};
static inline void check_at(const char *file, int line) {
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
    exit(-1);
  }
}
#define CHECK() check_at(__FILE__, __LINE__)
template <class T> int transform(T *in, T *out, int width, int height, int levels);
template <class T> void split(T *red, T *green, T *blue, unsigned char *pixels, int width, int height);
#endif
