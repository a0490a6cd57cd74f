/* A program that was never changed: it knows CUDA and no manager. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int cudaGetDeviceCount(int *count);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int cudaFree(void *pointer);
int cudaDeviceReset(void);
int cudaMemset(void *pointer, int value, size_t bytes);
struct stream { int is_captured; };
int cudaMallocAsync(void **pointer, size_t bytes, struct stream *stream);
int cudaMallocFromPoolAsync(void **pointer, size_t bytes, void *pool, struct stream *stream);
int cudaFreeAsync(void *pointer, struct stream *stream);
int fake_free(void *pointer);

int main(void) {
    int count;
    /* Without a manager nothing reaches the driver. */
    if (getenv("NOBODY")) {
        assert(cudaGetDeviceCount(&count) == 100 && cudaMemset(&count, 0, 1) == 100);
        assert(cudaFree(NULL) == 100 && cudaDeviceReset() == 100);
        return 0;
    }
    /* The first call reaches the driver: the process is bound by then. */
    assert(cudaGetDeviceCount(&count) == 0 && count == 1);
    printf("%s\n", getenv("CUDA_VISIBLE_DEVICES"));
    void *a, *b, *c;
    size_t pitch;
    assert(cudaMalloc(&a, 1000) == 0);
    assert(cudaMallocPitch(&b, &pitch, 100, 3) == 0 && pitch == 512);
    assert(cudaMalloc(&c, (size_t)1 << 40) == 2);
    assert(cudaMallocPitch(&c, &pitch, (size_t)1 << 40, (size_t)1 << 40) == 2);
    assert(cudaFree(a) == 0 && cudaFree(b) == 0 && cudaFree(NULL) == 0);
    /* Freed where it is not seen: its address comes again, and what it was granted goes. */
    assert(cudaMalloc(&a, 2000) == 0 && fake_free(a) == 0);
    assert(cudaMalloc(&b, 3000) == 0 && a == b);
    assert(cudaFree(b) == 0);
    /* In a graph nothing is taken, and nothing may wait. */
    struct stream stream = {0}, graph = {1};
    assert(cudaMallocAsync(&a, 1 << 20, &graph) == 2 && cudaMallocAsync(&a, 100, &graph) == 0);
    assert(cudaFreeAsync(a, &graph) == 0 && graph.is_captured == 1);
    assert(cudaMallocAsync(&a, 3100, &stream) == 0 && cudaMallocFromPoolAsync(&b, 3200, NULL, NULL) == 0);
    assert(cudaFreeAsync(a, &stream) == 0 && cudaFreeAsync(b, NULL) == 0);
    /* All is freed at once. */
    assert(cudaMalloc(&c, 4000) == 0 && cudaDeviceReset() == 0);
    return 0;
}
