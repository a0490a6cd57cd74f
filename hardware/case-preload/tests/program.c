/* A program that was never changed: it knows CUDA and no manager. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int cudaGetDeviceCount(int *count);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int cudaFree(void *pointer);

int main(void) {
    int count;
    /* The first call reaches the driver: the process is bound by then. */
    assert(cudaGetDeviceCount(&count) == 0 && count == 1);
    printf("%s\n", getenv("CUDA_VISIBLE_DEVICES"));
    void *a, *b, *c;
    size_t pitch;
    assert(cudaMalloc(&a, 1000) == 0);
    assert(cudaMallocPitch(&b, &pitch, 100, 3) == 0 && pitch == 512);
    assert(cudaMalloc(&c, (size_t)1 << 40) == 2);
    assert(cudaFree(a) == 0 && cudaFree(b) == 0 && cudaFree(NULL) == 0);
    return 0;
}
