/* The manager is gone when a task ends, and comes back when it is told to. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapa_case.h"

int main(void) {
    assert(case_task_begin(1, 1000, 1, 0) == CASE_OK);
    assert(case_task_end(1) == CASE_NO_MANAGER);
    char back[4096];
    snprintf(back, sizeof back, "%s", getenv("MAPA_CASE_SOCKET"));
    strcpy(strrchr(back, '.'), ".back");
    FILE *file = fopen(back, "w");
    assert(file && fclose(file) == 0);
    int code;
    do code = case_task_begin(2, 1000, 1, 0);
    while (code == CASE_NO_MANAGER);
    assert(code == CASE_OK);
    assert(case_task_end(2) == CASE_OK);
    return 0;
}
