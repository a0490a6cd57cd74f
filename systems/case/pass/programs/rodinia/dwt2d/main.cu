// Three files, templates, recursion, pinned memory, events, exits after checks. Buffers go from file to file: lazy, but for the
// file that looks at the whole when all are one (LTO).
#include "image.h"
#include <cstring>
template <class T> static void process(image *img) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  int size = img->width * img->height * sizeof(T);
  T *out, *red, *green, *blue;
  cudaMalloc((void **)&out, size);
  CHECK();
  cudaMalloc((void **)&red, size);
  CHECK();
  cudaMalloc((void **)&green, size);
  cudaMalloc((void **)&blue, size);
  CHECK();
  cudaEventRecord(start, 0);
  split(red, green, blue, img->pixels, img->width, img->height);
  transform(red, out, img->width, img->height, img->levels);
  transform(green, out, img->width, img->height, img->levels);
  transform(blue, out, img->width, img->height, img->levels);
  cudaEventRecord(stop, 0);
  cudaEventSynchronize(stop);
  float ms;
  cudaEventElapsedTime(&ms, start, stop);
  cudaFree(red);
  cudaFree(green);
  cudaFree(blue);
  cudaFree(out);
}
int main(int argc, char **argv) {
  int count = 0;
  cudaGetDeviceCount(&count);
  if (count < 1) {
    printf("no device\n");
    return -1;
  }
  cudaSetDevice(0);
  image img;
  img.width = argc > 1 ? atoi(argv[1]) : 64;
  img.height = 32;
  img.levels = 3;
  img.parts = 3;
  cudaMallocHost((void **)&img.pixels, 3 * img.width * img.height);
  memset(img.pixels, 0, 3 * img.width * img.height);
  if (argc > 2)
    process<int>(&img);
  else
    process<float>(&img);
  cudaFreeHost(img.pixels);
  return 0;
}
// files main.cu transform.cu components.cu
// trace -> begin 32768 0, extend 6144 0, end
// trace 32 -> begin 16384 0, extend 3072 0, end
