/* A program that was never changed: it knows the driver and no manager. It finds the driver's functions in
   one of three ways: LINKED with -lcuda; by dlopen and DLSYM; or as the CUDA runtime does, which is linked
   statically into most programs: cuGetProcAddress for each. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct plane { size_t width, height; int format; unsigned channels; };
struct short_plane { unsigned width, height; int format; unsigned channels; };
struct solid { size_t width, height, depth; int format; unsigned channels, flags; };
struct properties { int kind, handles, location, id; void *rest[2]; };
struct stream { int is_captured; };

/* name, the version asked for, symbol, and the arguments */
#define FUNCTIONS \
    F(cuInit, 12000, cuInit, (unsigned)) \
    F(cuMemAlloc, 12000, cuMemAlloc_v2, (uint64_t *, size_t)) \
    F(cuMemAlloc, 3010, cuMemAlloc, (unsigned *, unsigned)) \
    F(cuMemAllocManaged, 12000, cuMemAllocManaged, (uint64_t *, size_t, unsigned)) \
    F(cuMemAllocPitch, 12000, cuMemAllocPitch_v2, (uint64_t *, size_t *, size_t, size_t, unsigned)) \
    F(cuMemAllocPitch, 3010, cuMemAllocPitch, (unsigned *, unsigned *, unsigned, unsigned, unsigned)) \
    F(cuMemAllocAsync, 12000, cuMemAllocAsync, (uint64_t *, size_t, struct stream *)) \
    F(cuMemAllocAsync, 12000, cuMemAllocAsync_ptsz, (uint64_t *, size_t, struct stream *)) \
    F(cuMemAllocFromPoolAsync, 12000, cuMemAllocFromPoolAsync, (uint64_t *, size_t, void *, struct stream *)) \
    F(cuMemAllocFromPoolAsync, 12000, cuMemAllocFromPoolAsync_ptsz, (uint64_t *, size_t, void *, struct stream *)) \
    F(cuMemFree, 12000, cuMemFree_v2, (uint64_t)) \
    F(cuMemFree, 3010, cuMemFree, (unsigned)) \
    F(cuMemFreeAsync, 12000, cuMemFreeAsync, (uint64_t, struct stream *)) \
    F(cuMemFreeAsync, 12000, cuMemFreeAsync_ptsz, (uint64_t, struct stream *)) \
    F(cuStreamSynchronize, 12000, cuStreamSynchronize, (struct stream *)) \
    F(cuArrayCreate, 12000, cuArrayCreate_v2, (uint64_t *, const struct plane *)) \
    F(cuArrayCreate, 3010, cuArrayCreate, (uint64_t *, const struct short_plane *)) \
    F(cuArray3DCreate, 12000, cuArray3DCreate_v2, (uint64_t *, const struct solid *)) \
    F(cuArrayDestroy, 12000, cuArrayDestroy, (uint64_t)) \
    F(cuMemCreate, 12000, cuMemCreate, (uint64_t *, size_t, const struct properties *, uint64_t)) \
    F(cuMemRelease, 12000, cuMemRelease, (uint64_t)) \
    F(cuMemMap, 12000, cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t)) \
    F(cuMemUnmap, 12000, cuMemUnmap, (uint64_t, size_t)) \
    F(cuMemRetainAllocationHandle, 12000, cuMemRetainAllocationHandle, (uint64_t *, void *)) \
    F(cuCtxCreate, 12000, cuCtxCreate_v2, (void **, unsigned, int)) \
    F(cuCtxDestroy, 12000, cuCtxDestroy_v2, (void *)) \
    F(cuCtxSetCurrent, 12000, cuCtxSetCurrent, (void *)) \
    F(cuDevicePrimaryCtxRetain, 12000, cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuDevicePrimaryCtxRelease, 12000, cuDevicePrimaryCtxRelease_v2, (int)) \
    F(cuDevicePrimaryCtxReset, 12000, cuDevicePrimaryCtxReset_v2, (int)) \
    F(cuGetExportTable, 12000, cuGetExportTable, (const void **, const void *)) \
    F(cuUnlisted, 12000, cuUnlisted, (int))

#ifdef LINKED
#define F(name, version, symbol, arguments) int symbol arguments;
FUNCTIONS
const char *fake_visible(void);
uint64_t fake_held(void);
const void *fake_table(void);
static void find(void) {}
#else
#define F(name, version, symbol, arguments) static int (*symbol) arguments;
FUNCTIONS
static const char *(*fake_visible)(void);
static uint64_t (*fake_held)(void);
static const void *(*fake_table)(void);
#undef F
static void *by_name(void *driver, const char *name) {
    void *found = dlsym(driver, name);
    if (!found) fprintf(stderr, "%s\n", dlerror()), exit(9);
    return found;
}
static void find(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) fprintf(stderr, "%s\n", dlerror()), exit(9);
    *(void **)&fake_visible = by_name(driver, "fake_visible");
    *(void **)&fake_held = by_name(driver, "fake_held");
    *(void **)&fake_table = by_name(driver, "fake_table");
#ifdef DLSYM
#define F(name, version, symbol, arguments) *(void **)&symbol = by_name(driver, #symbol);
    FUNCTIONS
    /* The name that development packages have is the same library. */
    assert(dlopen("libcuda.so", RTLD_NOW) == driver);
#else
    int (*first)(const char *, void **, int, uint64_t);
    int (*get)(const char *, void **, int, uint64_t, int *);
    *(void **)&first = by_name(driver, "cuGetProcAddress");
    void *old = NULL;
    assert(!first("cuGetProcAddress", &old, 11030, 0) && old);
    assert(!first("cuGetProcAddress", (void **)&get, 12000, 0) && get && (void *)get != old);
    int status = 7;
    void *none = &status;
    assert(get("cuNoSuchName", &none, 12000, 0, &status) == 500 && !none && status == 1);
    assert(get("cuMemAllocAsync", &none, 11010, 0, &status) == 500 && !none && status == 2);
#define F(name, version, symbol, arguments) \
    assert(!get(#name, (void **)&symbol, version, strstr(#symbol, "_ptsz") ? 2 : 1, &status) && symbol && !status);
    FUNCTIONS
#endif
}
#endif

static const unsigned char id[16] = "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9";

/* Every way to take memory, one after the other, so that the test can name the bytes. */
static void each(void) {
    uint64_t a, b;
    unsigned s, by;
    size_t pitch;
    void *context;
    assert(cuCtxCreate_v2(&context, 0, 0) == 0);
    assert(cuMemAlloc_v2(&a, 1001) == 0 && fake_held() == 1001 && cuMemFree_v2(a) == 0);
    assert(cuMemAlloc(&s, 1002) == 0 && cuMemFree(s) == 0);
    assert(cuMemAllocManaged(&a, 1003, 1) == 0 && cuMemFree_v2(a) == 0);
    assert(cuMemAllocPitch_v2(&a, &pitch, 100, 3, 4) == 0 && pitch == 512 && cuMemFree_v2(a) == 0);
    assert(cuMemAllocPitch(&s, &by, 600, 3, 4) == 0 && by == 1024 && cuMemFree(s) == 0);
    assert(cuMemAllocAsync(&a, 1004, NULL) == 0 && cuMemFreeAsync(a, NULL) == 0);
    assert(cuMemAllocAsync_ptsz(&a, 1005, NULL) == 0 && cuMemFreeAsync_ptsz(a, NULL) == 0);
    assert(cuStreamSynchronize(NULL) == 0);
    assert(cuMemAllocFromPoolAsync(&a, 1006, NULL, NULL) == 0 && cuMemFree_v2(a) == 0);
    assert(cuMemAllocFromPoolAsync_ptsz(&a, 1007, NULL, NULL) == 0 && cuMemFree_v2(a) == 0);
    struct plane plane = {10, 10, 0x20, 2};
    assert(cuArrayCreate_v2(&a, &plane) == 0 && cuArrayDestroy(a) == 0);
    struct short_plane old = {11, 0, 0x20, 1};
    assert(cuArrayCreate(&a, &old) == 0 && cuArrayDestroy(a) == 0);
    struct solid solid = {5, 5, 5, 0x20, 1, 0};
    assert(cuArray3DCreate_v2(&a, &solid) == 0 && cuArrayDestroy(a) == 0);
    solid.flags = 0x40;
    assert(cuArray3DCreate_v2(&a, &solid) == 0 && cuArrayDestroy(a) == 0);
    /* Physical memory is free when it is released and mapped nowhere. */
    struct properties on_device = {1, 0, 1, 0, {0}}, on_host = {1, 0, 2, 0, {0}};
    assert(cuMemCreate(&b, 5000, &on_host, 0) == 0 && cuMemRelease(b) == 0);
    assert(cuMemCreate(&a, 1008, &on_device, 0) == 0);
    assert(cuMemMap(0x5000, 1008, 0, a, 0) == 0 && cuMemRelease(a) == 0 && fake_held() == 1008);
    assert(cuMemRetainAllocationHandle(&b, (void *)0x5000) == 0 && a == b);
    assert(cuMemUnmap(0x5000, 1008) == 0 && fake_held() == 1008);
    assert(cuMemRelease(b) == 0 && fake_held() == 0);
    assert(cuMemCreate(&a, 1016, &on_device, 0) == 0 && cuMemMap(0x5000, 1016, 0, a, 0) == 0);
    assert(cuMemRelease(a) == 0 && fake_held() == 1016 && cuMemUnmap(0x5000, 1016) == 0 && fake_held() == 0);
    /* In a graph nothing is taken, and nothing may wait. */
    struct stream graph = {1};
    assert(cuMemAllocAsync(&a, 1 << 20, &graph) == 0 && cuMemFreeAsync(a, &graph) == 0 && graph.is_captured == 1);
    /* A context takes its memory along, and no other's. */
    void *other;
    assert(cuMemAlloc_v2(&a, 1009) == 0);
    assert(cuCtxCreate_v2(&other, 0, 0) == 0);
    assert(cuMemAlloc_v2(&b, 1010) == 0 && cuMemAllocManaged(&b, 1011, 1) == 0);
    assert(cuCtxDestroy_v2(other) == 0 && fake_held() == 1009);
    assert(cuCtxSetCurrent(context) == 0 && cuMemFree_v2(a) == 0);
    /* So does the primary one, with its last user or when it is reset. */
    void *primary;
    assert(cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuDevicePrimaryCtxRetain(&primary, 0) == 0);
    assert(cuCtxSetCurrent(primary) == 0 && cuMemAlloc_v2(&a, 1012) == 0);
    assert(cuDevicePrimaryCtxRelease_v2(0) == 0 && fake_held() == 1012);
    assert(cuMemAlloc_v2(&a, 1013) == 0 && cuDevicePrimaryCtxRelease_v2(0) == 0 && fake_held() == 0);
    assert(cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuMemAlloc_v2(&a, 1014) == 0);
    assert(cuDevicePrimaryCtxReset_v2(0) == 0 && fake_held() == 0);
    /* What cannot be destroyed keeps its memory. */
    assert(cuMemAlloc_v2(&a, 1015) == 0 && cuCtxDestroy_v2(primary) == 201 && cuMemFree_v2(a) == 0);
    /* More than there is. */
    a = 5;
    assert(cuMemAlloc_v2(&a, (size_t)1 << 40) == 2 && a == 5);
    assert(cuMemAllocPitch_v2(&a, &pitch, (size_t)1 << 40, (size_t)1 << 40, 4) == 2);
    /* A place that the driver refuses is the driver's to refuse. */
    assert(cuMemAlloc_v2(&a, 0) == 1);
    /* What this library knows nothing of. */
    const void *table = NULL;
    assert(cuGetExportTable(&table, id) == 0 && table == fake_table());
    assert(cuUnlisted(3) == 4);
}

static void *busy(void *of) {
    unsigned seed = (unsigned)(size_t)of;
    uint64_t own[20] = {0};
    void *context;
    assert(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
    for (int turn = 0; turn < 400; turn++) {
        int at = rand_r(&seed) % 20;
        if (own[at]) assert(at % 2 ? cuMemFreeAsync(own[at], NULL) == 0 : cuMemFree_v2(own[at]) == 0), own[at] = 0;
        else assert((at % 2 ? cuMemAllocAsync(&own[at], 1 + rand_r(&seed) % 1000, NULL)
                            : cuMemAlloc_v2(&own[at], 1 + rand_r(&seed) % 1000)) == 0);
    }
    for (int at = 0; at < 20; at++) if (own[at]) assert(cuMemFree_v2(own[at]) == 0);
    assert(cuStreamSynchronize(NULL) == 0 && cuDevicePrimaryCtxRelease_v2(0) == 0);
    return NULL;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    uint64_t a;
#ifndef LINKED
    if (!strcmp(what, "reopen")) {
        /* A program that looks for the driver again and again is one process all the same. */
        for (int i = 0; i < 10; i++) {
            void *driver = dlopen("libcuda.so.1", RTLD_NOW);
            int (*init)(unsigned);
            *(void **)&init = by_name(driver, "cuInit");
            assert(init(0) == 0 && dlclose(driver) == 0);
        }
        return 0;
    }
#endif
    find();
    if (!strcmp(what, "nobody")) {
        /* Without a manager nothing reaches the driver. */
        assert(cuInit(0) == 100 && cuMemAlloc_v2(&a, 10) == 100);
        return 0;
    }
    if (!strcmp(what, "fork")) {
        /* Each process is bound by itself, and a child holds nothing of its parent's. */
        int status;
        if (!fork()) {
            assert(cuInit(0) == 0 && cuMemAlloc_v2(&a, 77) == 0 && cuMemFree_v2(a) == 0);
            return 0;
        }
        assert(wait(&status) > 0 && status == 0);
        assert(cuInit(0) == 0 && cuMemAlloc_v2(&a, 88) == 0);
        /* After cuInit a child can free nothing. */
        if (!fork()) return cuMemFree_v2(12345) == 1 ? 0 : 1;
        assert(wait(&status) > 0 && status == 0);
        assert(cuMemFree_v2(a) == 0);
        return 0;
    }
    assert(cuInit(0) == 0);
    printf("%s\n", fake_visible());
    if (!strcmp(what, "each")) each();
    if (!strcmp(what, "threads")) {
        pthread_t all[8];
        for (size_t i = 0; i < 8; i++) assert(!pthread_create(&all[i], NULL, busy, (void *)(i + 1)));
        for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
    }
    if (!strcmp(what, "many")) {
        static uint64_t all[5000];
        for (int i = 0; i < 5000; i++) assert(cuMemAlloc_v2(&all[i], 1000 + i % 7) == 0);
        for (int i = 0; i < 5000; i++) assert(cuMemFree_v2(all[(i * 7) % 5000]) == 0);
    }
    if (!strcmp(what, "share")) {
        /* More than half of the device, again and again: another who does so must wait. */
        for (int i = 0; i < 30; i++) {
            assert(cuMemAlloc_v2(&a, 600000000) == 0);
            usleep(1000);
            assert(cuMemFree_v2(a) == 0);
        }
        return 0;
    }
    if (!strcmp(what, "refused")) {
        /* The manager grants it, and the driver has less. */
        assert(cuMemAlloc_v2(&a, 3000) == 2);
        assert(cuMemAlloc_v2(&a, 1000) == 0 && cuMemFree_v2(a) == 0);
    }
    assert(fake_held() == 0);
    return 0;
}
