/* A program to be traced; its argument says what it does. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mapa_case.h"

int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  void *a = NULL, *b = NULL;
  if (strcmp(what, "outside") == 0)
    return cudaMalloc(&a, 1);
  case_task_begin(7, 1000, 2, 0);
  if (strcmp(what, "right") == 0) {
    cudaMalloc(&a, 1000);
    case_task_extend(7, 24, 0);
    cudaMalloc(&b, 24);
    puts("held 1024");
    cudaFree(b);
    cudaFree(a);
  } else if (strcmp(what, "above") == 0) {
    cudaMalloc(&a, 1001);
    cudaFree(a);
  } else if (strcmp(what, "killed") == 0) {
    kill(getpid(), SIGKILL);
  }
  case_task_end(7);
  return strcmp(what, "status") == 0 ? 5 : 0;
}
