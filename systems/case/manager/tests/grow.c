/* Lazy code that takes memory piece by piece until it is refused, gives all back, and begins again. */
#include <stdio.h>
#include <stdlib.h>

#include "mapa_case.h"

enum { MOST = 64 };

int main(int argc, char **argv) {
    if (argc < 3) return 1;
    size_t bytes = strtoull(argv[1], NULL, 10);
    int rounds = atoi(argv[2]);
    for (int round = 0; round < rounds; round++) {
        void *all[MOST];
        int had = 0, code = 0;
        while (code == 0 && had < MOST) {
            code = case_lazy_malloc(&all[had], bytes);
            if (code != 0) break;
            /* The first is a placeholder until it is used. */
            code = case_lazy_memset(all[had], 7, 4);
            had++;
        }
        printf("%d, then %d\n", had, code);
        for (int at = 0; at < had; at++)
            if (case_lazy_free(all[at]) != 0) return 2;
    }
    return 0;
}
