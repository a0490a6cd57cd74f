/* CUDA refuses memory that the manager has granted. */
#include <assert.h>
#include <stdint.h>
#include <stddef.h>

#include "mapa_case.h"

extern int fake_allocates, fake_waited;

static void set(void **args) { *(int *)*(void **)args[0] = 7; }

static int launch(void *pointer) {
    case_dim3 one = {1, 1, 1};
    uint64_t sizes[] = {sizeof pointer};
    void *args[] = {&pointer};
    return case_lazy_launch((void *)set, one, one, args, 0, 0, 1, sizes);
}

int main(void) {
    void *a, *b, *c, *m;
    /* One of two is allocated. The next launch asks CUDA again, and the manager for nothing. */
    assert(case_lazy_malloc(&a, 64) == 0 && case_lazy_malloc(&b, 32) == 0);
    void *copy = b;
    fake_allocates = 1;
    assert(launch(copy) == 2 && launch(copy) == 2);
    fake_allocates = -1;
    assert(launch(copy) == 0);
    int value = 0;
    assert(case_lazy_memcpy(&value, copy, sizeof value, 2) == 0 && value == 7);
    assert(case_lazy_free(copy) == 0 && case_lazy_free(a) == 0);
    /* None is allocated: the task is over at once. */
    assert(case_lazy_malloc(&a, 16) == 0);
    fake_allocates = 0;
    assert(launch(a) == 2);
    assert(case_lazy_free(a) == 0);
    /* What two were refused is there for them, and no more than what lacks is asked for. */
    assert(case_lazy_malloc(&a, 64) == 0 && case_lazy_malloc(&b, 32) == 0);
    assert(case_lazy_malloc(&c, 16) == 0);
    fake_allocates = 1;
    assert(launch(b) == 2);
    fake_allocates = -1;
    assert(case_lazy_malloc_managed(&m, 8, 1) == 0);
    assert(case_lazy_free(a) == 0 && case_lazy_free(b) == 0 && case_lazy_free(c) == 0);
    /* The last to go waits for all streams, since any may use what the task asked for. */
    int before = fake_waited;
    assert(case_lazy_free_async(m, (void *)16) == 0 && fake_waited == before + 1);
    return 0;
}
