/* Calls that may be the first to reach the driver bind the process, or do not reach it. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapa_case.h"

static int call(int which) {
    void *p = NULL;
    char to[4], from[4] = {0};
    switch (which) {
    case 0: return case_lazy_free(NULL);
    case 1: return case_lazy_malloc(&p, 0);
    case 2: return case_lazy_memcpy(to, from, 4, 0);
    case 3: return case_lazy_memset(to, 0, 4);
    case 4: return case_lazy_malloc_host(&p, 4);
    default: case_lazy_touch(); return 0;
    }
}

int main(void) {
    int last = 0;
    for (int which = 0; which < 6; which++) {
        pid_t child = fork();
        if (child == 0) {
            int code = call(which);
            _exit(code == 0 && !getenv("CUDA_VISIBLE_DEVICES") ? 1 : code);
        }
        int status;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
        int code = WEXITSTATUS(status);
        /* All alike, but that without a manager the last ends the process. */
        if (which > 0 && code != (which == 5 && last == 100 ? 69 : last)) return 3;
        if (which < 5) last = code;
    }
    return last;
}
