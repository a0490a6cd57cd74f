/* A CUDA driver whose device is a number: the bytes that are held. It behaves as NVIDIA's API says
   where MAPA's library depends on it. The number is in the file FAKE_DRIVER_HELD, for all processes that
   share the device and whoever checks it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK, INVALID = 1, MEMORY = 2, NOT_INITIALIZED = 3, NO_CONTEXT = 201, NOT_FOUND = 500, CAPTURED = 900 };
enum kind { NONE, PLAIN, POOL, ARRAY, HANDLE };

struct own { enum kind kind; uint64_t at, bytes; void *context; int references, mappings, is_pending; void *stream; };
struct stream { int is_captured; };
struct mapping { uint64_t at, bytes; struct own *of; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own all[20000];
static struct mapping mappings[16];
static uint64_t *held, limit;
static char visible[64];
static int is_on, users;
static struct { int unused; } primary;
static __thread void *current;

static int take(enum kind kind, uint64_t at, uint64_t bytes, struct own **out) {
    if (!is_on) return NOT_INITIALIZED;
    if (!bytes) return INVALID;
    int code = MEMORY;
    if (__atomic_add_fetch(held, bytes, __ATOMIC_SEQ_CST) > limit) return __atomic_sub_fetch(held, bytes, __ATOMIC_SEQ_CST), MEMORY;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20000; i++)
        if (!all[i].kind) {
            all[i] = (struct own){.kind = kind, .at = at + (uint64_t)i * 0x1000, .bytes = bytes, .references = 1};
            if (kind == PLAIN || kind == ARRAY) all[i].context = current;
            *out = &all[i];
            code = OK;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (code) __atomic_sub_fetch(held, bytes, __ATOMIC_SEQ_CST);
    return code;
}
static void drop(struct own *own) { __atomic_sub_fetch(held, own->bytes, __ATOMIC_SEQ_CST); own->kind = NONE; }
static struct own *find(uint64_t at) {
    for (int i = 0; i < 20000; i++) if (all[i].kind && all[i].at == at) return &all[i];
    return NULL;
}
static int give(uint64_t at, void *stream, int later) {
    pthread_mutex_lock(&lock);
    struct own *own = find(at);
    if (own && later) own->is_pending = 1, own->stream = stream;
    else if (own) drop(own);
    pthread_mutex_unlock(&lock);
    return own ? OK : INVALID;
}
static void drop_of(void *context) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20000; i++) if (all[i].kind && all[i].context == context) drop(&all[i]);
    pthread_mutex_unlock(&lock);
}

int cuInit(unsigned flags) {
    if (flags) return INVALID;
    const char *file = getenv("FAKE_DRIVER_HELD"), *most = getenv("FAKE_DRIVER_LIMIT");
    int fd = open(file, O_RDWR);
    if (fd < 0) return INVALID;
    held = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    limit = most ? strtoull(most, NULL, 10) : UINT64_MAX;
    const char *devices = getenv("CUDA_VISIBLE_DEVICES");
    strncpy(visible, devices ? devices : "all", sizeof visible - 1);
    is_on = 1;
    return OK;
}

#define ALLOCATES(name, arguments, type, kind, base, bytes) \
    int name arguments { struct own *own; int code = take(kind, base, bytes, &own); if (!code) *to = (type)own->at; return code; }
#define HIGH 0x7f0000000000
#define LOW 0x10000000
ALLOCATES(cuMemAlloc_v2, (uint64_t *to, size_t bytes), uint64_t, PLAIN, HIGH, bytes)
ALLOCATES(cuMemAlloc, (unsigned *to, unsigned bytes), unsigned, PLAIN, LOW, bytes)
ALLOCATES(cuMemAllocManaged, (uint64_t *to, size_t bytes, unsigned flags), uint64_t, PLAIN, HIGH, bytes + 0 * flags)
static size_t padded(size_t width) { return (width + 511) / 512 * 512; }
ALLOCATES(pitch, (uint64_t *to, size_t bytes), uint64_t, PLAIN, HIGH, bytes)
int cuMemAllocPitch_v2(uint64_t *to, size_t *by, size_t width, size_t height, unsigned element) {
    (void)element;
    *by = padded(width);
    return pitch(to, *by * height);
}
int cuMemAllocPitch(unsigned *to, unsigned *by, unsigned width, unsigned height, unsigned element) {
    (void)element;
    *by = padded(width);
    return cuMemAlloc(to, *by * height);
}
static int later(uint64_t *to, size_t bytes, struct stream *stream) {
    /* A node of a graph: an address, and no memory yet. */
    if (stream && stream->is_captured) return *to = 0xaaaa000, OK;
    struct own *own;
    int code = take(POOL, HIGH, bytes, &own);
    if (!code) *to = own->at;
    return code;
}
int cuMemAllocAsync(uint64_t *to, size_t bytes, struct stream *stream) { return later(to, bytes, stream); }
int cuMemAllocAsync_ptsz(uint64_t *to, size_t bytes, struct stream *stream) { return later(to, bytes, stream); }
int cuMemAllocFromPoolAsync(uint64_t *to, size_t bytes, void *pool, struct stream *stream) { (void)pool; return later(to, bytes, stream); }
int cuMemAllocFromPoolAsync_ptsz(uint64_t *to, size_t bytes, void *pool, struct stream *stream) { (void)pool; return later(to, bytes, stream); }
int cuMemFree_v2(uint64_t at) { return give(at, NULL, 0); }
int cuMemFree(unsigned at) { return give(at, NULL, 0); }
static int free_later(uint64_t at, struct stream *stream) {
    return stream && stream->is_captured ? OK : give(at, stream, 1);
}
int cuMemFreeAsync(uint64_t at, struct stream *stream) { return free_later(at, stream); }
int cuMemFreeAsync_ptsz(uint64_t at, struct stream *stream) { return free_later(at, stream); }
int cuStreamSynchronize(struct stream *stream) {
    if (stream && stream->is_captured) return stream->is_captured = 2, CAPTURED;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 20000; i++) if (all[i].kind && all[i].is_pending && all[i].stream == stream) drop(&all[i]);
    pthread_mutex_unlock(&lock);
    return OK;
}
int cuStreamSynchronize_ptsz(struct stream *stream) { return cuStreamSynchronize(stream); }
int cuStreamIsCapturing(struct stream *stream, int *status) { return *status = stream ? stream->is_captured : 0, OK; }
int cuStreamIsCapturing_ptsz(struct stream *stream, int *status) { return cuStreamIsCapturing(stream, status); }

struct plane { size_t width, height; int format; unsigned channels; };
struct short_plane { unsigned width, height; int format; unsigned channels; };
struct solid { size_t width, height, depth; int format; unsigned channels, flags; };
#define MANY(n) ((n) ? (n) : 1)
/* All are of floats here; sparse ones take nothing. */
ALLOCATES(cuArrayCreate_v2, (uint64_t *to, const struct plane *own_), uint64_t, ARRAY, HIGH,
    own_->width * MANY(own_->height) * own_->channels * 4)
ALLOCATES(cuArrayCreate, (uint64_t *to, const struct short_plane *own_), uint64_t, ARRAY, HIGH,
    (uint64_t)own_->width * MANY(own_->height) * own_->channels * 4)
ALLOCATES(solid, (uint64_t *to, const struct solid *own_), uint64_t, ARRAY, HIGH,
    own_->width * MANY(own_->height) * MANY(own_->depth) * own_->channels * 4)
int cuArray3DCreate_v2(uint64_t *to, const struct solid *own) {
    return own->flags & 0x40 ? (*to = 0xbbbb000, OK) : solid(to, own);
}
int cuArrayDestroy(uint64_t array) { return array == 0xbbbb000 ? OK : give(array, NULL, 0); }

struct properties { int kind, handles, location, id; void *rest[2]; };
int cuMemCreate(uint64_t *to, size_t bytes, const struct properties *of, uint64_t flags) {
    struct own *own;
    if (of->location != 1) return *to = 0xcccc000, OK;
    int code = take(HANDLE, 1, bytes + 0 * flags, &own);
    if (!code) *to = own->at;
    return code;
}
static void settle(struct own *own) { if (own->references <= 0 && !own->mappings) drop(own); }
int cuMemRelease(uint64_t handle) {
    if (handle == 0xcccc000) return OK;
    pthread_mutex_lock(&lock);
    struct own *own = find(handle);
    if (own) own->references--, settle(own);
    pthread_mutex_unlock(&lock);
    return own ? OK : INVALID;
}
int cuMemMap(uint64_t at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
    pthread_mutex_lock(&lock);
    struct own *own = find(handle + 0 * (offset + flags));
    for (int i = 0; own && i < 16; i++)
        if (!mappings[i].of) {
            mappings[i] = (struct mapping){at, bytes, own};
            own->mappings++;
            break;
        }
    pthread_mutex_unlock(&lock);
    return own ? OK : INVALID;
}
int cuMemUnmap(uint64_t at, size_t bytes) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16; i++)
        if (mappings[i].of && mappings[i].at >= at && mappings[i].at < at + bytes) {
            mappings[i].of->mappings--;
            settle(mappings[i].of);
            mappings[i].of = NULL;
        }
    pthread_mutex_unlock(&lock);
    return OK;
}
int cuMemRetainAllocationHandle(uint64_t *to, void *address) {
    pthread_mutex_lock(&lock);
    int code = INVALID;
    for (int i = 0; i < 16; i++)
        if (mappings[i].of && mappings[i].at == (uint64_t)address) {
            mappings[i].of->references++;
            *to = mappings[i].of->at;
            code = OK;
        }
    pthread_mutex_unlock(&lock);
    return code;
}

int cuCtxGetCurrent(void **to) { return *to = current, OK; }
int cuCtxSetCurrent(void *context) { return current = context, OK; }
int cuCtxCreate_v2(void **to, unsigned flags, int device) { (void)flags, (void)device; return current = *to = malloc(1), OK; }
int cuCtxDestroy_v2(void *context) {
    if (context == &primary) return NO_CONTEXT;
    drop_of(context);
    return OK;
}
int cuDevicePrimaryCtxRetain(void **to, int device) { (void)device; __sync_add_and_fetch(&users, 1); return *to = &primary, OK; }
int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    if (!users) return NO_CONTEXT;
    if (!__sync_sub_and_fetch(&users, 1)) drop_of(&primary);
    return OK;
}
int cuDevicePrimaryCtxReset_v2(int device) { (void)device; return drop_of(&primary), OK; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { (void)device; return *flags = 0, *active = users > 0, OK; }

/* Names of which MAPA's library knows nothing. */
int cuUnlisted(int number) { return number + 1; }
const char *fake_visible(void) { return visible; }
uint64_t fake_held(void) { return *held; }

/* A private table: it takes memory too, which nobody sees. */
static int hidden_alloc(uint64_t *to, size_t bytes) { return cuMemAlloc_v2(to, bytes); }
static const void *const private_table[] = {(void *)sizeof(void *[2]), (void *)hidden_alloc};
const void *fake_table(void) { return private_table; }
int cuGetExportTable(const void **to, const void *id) {
    static const unsigned char known[16] = "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9";
    if (memcmp(id, known, 16)) return *to = NULL, NOT_FOUND;
    return *to = private_table, OK;
}

int cuGetProcAddress(const char *name, void **to, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags, int *status);
/* The same functions at addresses without a symbol. */
#define HIDDEN(name, arguments, ...) static int hidden_##name arguments { return name(__VA_ARGS__); }
HIDDEN(cuInit, (unsigned flags), flags)
HIDDEN(cuGetProcAddress_v2, (const char *n, void **to, int v, uint64_t f, int *s), n, to, v, f, s)
HIDDEN(cuMemAlloc, (unsigned *to, unsigned bytes), to, bytes)
HIDDEN(cuMemAlloc_v2, (uint64_t *to, size_t bytes), to, bytes)
HIDDEN(cuMemAllocAsync, (uint64_t *to, size_t bytes, struct stream *s), to, bytes, s)
HIDDEN(cuMemAllocAsync_ptsz, (uint64_t *to, size_t bytes, struct stream *s), to, bytes, s)
HIDDEN(cuMemFree_v2, (uint64_t at), at)
HIDDEN(cuUnlisted, (int number), number)

#define ROW(name, since, symbol, hidden, per_thread) {#name, since, per_thread, (void *)symbol, (void *)hidden}
static const struct { const char *name; int since, per_thread; void *symbol, *hidden; } rows[] = {
    ROW(cuInit, 2000, cuInit, hidden_cuInit, 0),
    ROW(cuGetProcAddress, 11030, cuGetProcAddress, cuGetProcAddress, 0),
    ROW(cuGetProcAddress, 12000, cuGetProcAddress_v2, hidden_cuGetProcAddress_v2, 0),
    ROW(cuMemAlloc, 2000, cuMemAlloc, hidden_cuMemAlloc, 0),
    ROW(cuMemAlloc, 3020, cuMemAlloc_v2, hidden_cuMemAlloc_v2, 0),
    ROW(cuMemAllocManaged, 6000, cuMemAllocManaged, cuMemAllocManaged, 0),
    ROW(cuMemAllocPitch, 2000, cuMemAllocPitch, cuMemAllocPitch, 0),
    ROW(cuMemAllocPitch, 3020, cuMemAllocPitch_v2, cuMemAllocPitch_v2, 0),
    ROW(cuMemAllocAsync, 11020, cuMemAllocAsync, hidden_cuMemAllocAsync, 0),
    ROW(cuMemAllocAsync, 11020, cuMemAllocAsync_ptsz, hidden_cuMemAllocAsync_ptsz, 1),
    ROW(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 0),
    ROW(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync_ptsz, cuMemAllocFromPoolAsync_ptsz, 1),
    ROW(cuMemFree, 2000, cuMemFree, cuMemFree, 0),
    ROW(cuMemFree, 3020, cuMemFree_v2, hidden_cuMemFree_v2, 0),
    ROW(cuMemFreeAsync, 11020, cuMemFreeAsync, cuMemFreeAsync, 0),
    ROW(cuMemFreeAsync, 11020, cuMemFreeAsync_ptsz, cuMemFreeAsync_ptsz, 1),
    ROW(cuStreamSynchronize, 2000, cuStreamSynchronize, cuStreamSynchronize, 0),
    ROW(cuArrayCreate, 2000, cuArrayCreate, cuArrayCreate, 0),
    ROW(cuArrayCreate, 3020, cuArrayCreate_v2, cuArrayCreate_v2, 0),
    ROW(cuArray3DCreate, 3020, cuArray3DCreate_v2, cuArray3DCreate_v2, 0),
    ROW(cuArrayDestroy, 2000, cuArrayDestroy, cuArrayDestroy, 0),
    ROW(cuMemCreate, 10020, cuMemCreate, cuMemCreate, 0),
    ROW(cuMemRelease, 10020, cuMemRelease, cuMemRelease, 0),
    ROW(cuMemMap, 10020, cuMemMap, cuMemMap, 0),
    ROW(cuMemUnmap, 10020, cuMemUnmap, cuMemUnmap, 0),
    ROW(cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 0),
    ROW(cuCtxCreate, 3020, cuCtxCreate_v2, cuCtxCreate_v2, 0),
    ROW(cuCtxDestroy, 4000, cuCtxDestroy_v2, cuCtxDestroy_v2, 0),
    ROW(cuCtxSetCurrent, 4000, cuCtxSetCurrent, cuCtxSetCurrent, 0),
    ROW(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 0),
    ROW(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v2, 0),
    ROW(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset_v2, 0),
    ROW(cuGetExportTable, 3000, cuGetExportTable, cuGetExportTable, 0),
    ROW(cuUnlisted, 12000, cuUnlisted, hidden_cuUnlisted, 0),
};
int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags, int *status) {
    int per_thread = (flags & 2) != 0, best = -1, is_known = 0;
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        if (strcmp(rows[i].name, name)) continue;
        is_known = 1;
        if (rows[i].since > version || (rows[i].per_thread && !per_thread)) continue;
        if (best < 0 || rows[i].per_thread > rows[best].per_thread || rows[i].since > rows[best].since) best = i;
    }
    if (status) *status = best >= 0 ? 0 : is_known ? 2 : 1;
    *to = best < 0 ? NULL : getenv("FAKE_DRIVER_HIDDEN") ? rows[best].hidden : rows[best].symbol;
    return best < 0 ? NOT_FOUND : OK;
}
int cuGetProcAddress(const char *name, void **to, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, to, version, flags, NULL);
}
