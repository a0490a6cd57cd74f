/* A CUDA runtime whose device is the host. */
#include <stdlib.h>

/* The same place each time, so that addresses come again. */
static char memory[4][4096];
static int taken[4];

int cudaGetDeviceCount(int *count) { *count = getenv("CUDA_VISIBLE_DEVICES") ? 1 : 8; return 0; }
/* Takes memory, under a name that nobody stands in front of. */
static int take(void **pointer, size_t bytes) {
    for (int i = 0; i < 4; i++)
        if (!taken[i] && bytes <= sizeof memory[i]) {
            taken[i] = 1;
            *pointer = memory[i];
            return 0;
        }
    return 2;
}
int cudaMalloc(void **pointer, size_t bytes) { return take(pointer, bytes); }
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
/* Frees, under a name that nobody stands in front of. */
int fake_free(void *pointer) {
    for (int i = 0; i < 4; i++)
        if (pointer == memory[i]) taken[i] = 0;
    return 0;
}
int cudaFree(void *pointer) { return fake_free(pointer); }
int cudaDeviceReset(void) {
    for (int i = 0; i < 4; i++) taken[i] = 0;
    return 0;
}
int cudaMemset(void *pointer, int value, size_t bytes) { (void)pointer, (void)value, (void)bytes; return 0; }
/* A stream of which a call may be taken into a graph. Whoever waits for one that is captured spoils the graph. */
struct stream { int is_captured; };
int cudaStreamIsCapturing(struct stream *stream, int *status) { *status = stream ? stream->is_captured : 0; return 0; }
int cudaStreamSynchronize(struct stream *stream) {
    if (!stream || !stream->is_captured) return 0;
    stream->is_captured = 2;
    return 900;
}
int cudaMallocAsync(void **pointer, size_t bytes, struct stream *stream) {
    (void)stream;
    return take(pointer, bytes);
}
int cudaMallocFromPoolAsync(void **pointer, size_t bytes, void *pool, struct stream *stream) {
    (void)pool, (void)stream;
    return take(pointer, bytes);
}
int cudaFreeAsync(void *pointer, struct stream *stream) { (void)stream; return fake_free(pointer); }
