/* Tasks by hand: two in a row, one that grows, one that is never ended, and a child. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapa_case.h"

int main(void) {
    assert(case_init(5000, 0) == CASE_OK);
    assert(case_task_end(1) == CASE_NO_TASK);
    assert(case_task_extend(1, 1, 1) == CASE_NO_TASK);
    assert(case_task_begin(1, 1000, 32, 0) == CASE_OK);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const char *pipe = getenv("CUDA_MPS_PIPE_DIRECTORY");
    printf("visible %s pipe %s\n", visible ? visible : "-", pipe ? pipe : "-");
    assert(case_task_end(1) == CASE_OK);
    assert(case_task_begin(2, 2000, 0, CASE_MAY_EXTEND | CASE_UNKNOWN_WARPS) == CASE_OK);
    assert(case_task_extend(2, 500, 0) == CASE_OK);
    /* The child has no task of its parent's, and asks for itself. */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int none = case_task_end(2);
        int own = case_task_begin(2, 10, 1, 0);
        int ended = case_task_end(2);
        _exit(none == CASE_NO_TASK && own == CASE_OK && ended == CASE_OK ? 0 : 1);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert(case_task_begin(3, 3000, 1, 0) == CASE_OK);
    return 7;
}
