/* A task that can never be had, of a program that cannot handle it. */
#include "mapa_case.h"

int main(void) {
    case_task_begin(1, (uint64_t)1 << 40, 1, CASE_EXIT_ON_REFUSAL);
    return 0;
}
