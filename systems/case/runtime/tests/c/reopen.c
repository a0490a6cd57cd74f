/* Opens the library again and again: the process keeps its session. */
#include <assert.h>
#include <dlfcn.h>

int main(void) {
    for (int i = 0; i < 10; i++) {
        void *library = dlopen("libmapa_case.so", RTLD_NOW);
        assert(library);
        int (*begin)(unsigned long, unsigned long, unsigned long, unsigned);
        int (*end)(unsigned long);
        *(void **)&begin = dlsym(library, "case_task_begin");
        *(void **)&end = dlsym(library, "case_task_end");
        assert(begin && end && begin(1, 10, 1, 0) == 0 && end(1) == 0 && dlclose(library) == 0);
    }
    return 0;
}
