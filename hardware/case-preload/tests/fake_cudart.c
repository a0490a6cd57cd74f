/* A CUDA runtime whose device is the host. */
#include <stdlib.h>

int cudaGetDeviceCount(int *count) { *count = getenv("CUDA_VISIBLE_DEVICES") ? 1 : 8; return 0; }
int cudaMalloc(void **pointer, size_t bytes) { *pointer = malloc(bytes); return 0; }
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
int cudaFree(void *pointer) { free(pointer); return 0; }
