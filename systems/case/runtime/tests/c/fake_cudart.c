/* A CUDA runtime whose device is the host. The observer prints what becomes of tasks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;

/* How many allocations it makes before it refuses; any number if negative. */
int fake_allocates = -1;
/* How often the device was waited for. */
int fake_waited;

int cudaMalloc(void **p, size_t n) {
    if (fake_allocates == 0) return 2;
    if (fake_allocates > 0) fake_allocates--;
    *p = malloc(n);
    return *p ? 0 : 2;
}
int cudaMallocManaged(void **p, size_t n, unsigned flags) { (void)flags; return cudaMalloc(p, n); }
int cudaFree(void *p) { free(p); return 0; }
int cudaMemcpy(void *to, const void *from, size_t n, int kind) { (void)kind; memcpy(to, from, n); return 0; }
int cudaMemset(void *to, int value, size_t n) { memset(to, value, n); return 0; }
int cudaFreeAsync(void *p, void *stream) { (void)stream; return cudaFree(p); }
int cudaMallocHost(void **p, size_t n) { return cudaMalloc(p, n); }
int cudaDeviceSynchronize(void) { fake_waited++; return 0; }
int cudaGetLastError(void) { return 0; }
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, void *stream) {
    (void)grid, (void)block, (void)shared, (void)stream;
    ((void (*)(void **))kernel)(args);
    return 0;
}
void mapa_case_observer(uint32_t event, uint64_t task, uint64_t bytes, uint64_t warps) {
    static const char *names[] = {"?", "begin", "extend", "end"};
    printf("%s %llu %llu %llu\n", names[event], (unsigned long long)task, (unsigned long long)bytes,
           (unsigned long long)warps);
    fflush(stdout);
}
