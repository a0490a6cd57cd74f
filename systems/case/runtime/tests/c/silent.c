/* Memory is granted, and the instance is not described: nothing is held. */
#include <assert.h>

#include "mapa_case.h"

int main(void) {
    assert(case_task_begin(1, 1000, 1, 0) == CASE_REFUSED);
    assert(case_task_end(1) == CASE_NO_TASK);
    return 0;
}
