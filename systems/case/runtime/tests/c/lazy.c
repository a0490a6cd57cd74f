/* Lazy code: placeholders in a table, in a struct, in a variable, and behind an offset. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapa_case.h"

struct pair { int tag; float *p; };

static void fill(void **args) {
    float *p = *(float **)args[0];
    struct pair pair = *(struct pair *)args[1];
    int n = *(int *)args[2];
    for (int i = 0; i < n; i++) p[i] = pair.tag + i;
    pair.p[0] = 42;
}

static void sum(void **args) {
    float **table = *(float ***)args[0];
    int n = *(int *)args[1];
    float *out = *(float **)args[2];
    *out = 0;
    for (int i = 0; i < n; i++) *out += table[i][1];
}

int main(void) {
    float *table[3], *copy[3];
    for (int i = 0; i < 3; i++) assert(case_lazy_malloc((void **)&table[i], 64) == 0);
    memcpy(copy, table, sizeof copy);
    struct pair pair = {10, copy[2]};
    float *offset = table[0] + 2;
    int n = 4;
    case_dim3 grid = {2, 1, 1}, block = {48, 1, 1};
    uint64_t sizes[] = {sizeof offset, sizeof pair, sizeof n};
    void *args[] = {&offset, &pair, &n};
    assert(case_lazy_launch((void *)fill, grid, block, args, 0, 0, 3, sizes) == 0);
    float host[16];
    assert(case_lazy_memcpy(host, copy[0], 64, 2) == 0);
    assert(host[2] == 10 && host[5] == 13);
    assert(case_lazy_memcpy(host, copy[2], 64, 2) == 0 && host[0] == 42);
    /* The variable that the allocation was written to has the real pointer now; the copy has not. */
    assert(table[1] != copy[1] && case_lazy_resolve(copy[1]) == (void *)table[1]);
    /* A table of pointers on the device: placeholders in what is copied are translated. */
    for (int i = 0; i < 3; i++) {
        float value = i + 1;
        assert(case_lazy_memcpy(copy[i] + 1, &value, 4, 1) == 0);
    }
    float **device;
    float *out;
    assert(case_lazy_malloc((void **)&device, sizeof copy) == 0);
    assert(case_lazy_malloc((void **)&out, 4) == 0);
    assert(case_lazy_memcpy(device, copy, sizeof copy, 1) == 0);
    n = 3;
    uint64_t sizes2[] = {8, 4, 8};
    void *args2[] = {&device, &n, &out};
    assert(case_lazy_launch((void *)sum, grid, block, args2, 0, 0, 3, sizes2) == 0);
    assert(case_lazy_memcpy(host, out, 4, 2) == 0 && host[0] == 6);
    /* What can never be had is CUDA's error, and changes nothing. */
    void *huge = NULL;
    assert(case_lazy_malloc(&huge, (size_t)1 << 40) == 2 && huge == NULL);
    for (int i = 0; i < 3; i++) assert(case_lazy_free(copy[i]) == 0);
    assert(case_lazy_free(device) == 0);
    assert(case_lazy_free(out) == 0);
    /* Never used, so never asked for. */
    void *idle;
    assert(case_lazy_malloc(&idle, 99) == 0 && case_lazy_free(idle) == 0);
    /* The first request can fail too: the launch says so, and so does the last error. */
    assert(case_lazy_malloc(&huge, (size_t)1 << 40) == 0 && huge != NULL);
    uint64_t sizes3[] = {8};
    void *args3[] = {&huge};
    assert(case_lazy_launch((void *)fill, grid, block, args3, 0, 0, 1, sizes3) == 2);
    assert(case_lazy_get_last_error() == 2 && case_lazy_get_last_error() == 0);
    assert(case_lazy_free(huge) == 0);
    return 0;
}
