/* Boxes of particles: arguments and host memory in C, the GPU's part in a second file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "boxes.h"
int main(int argc, char **argv) {
  struct dims d;
  d.side = 2;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-boxes1d") == 0 && i + 1 < argc) {
      d.side = atoi(argv[++i]);
      if (d.side < 1) {
        printf("ERROR: wrong value to -boxes1d parameter\n");
        return 0;
      }
    } else {
      printf("ERROR: unknown parameter\n");
      return 0;
    }
  }
  d.boxes = (long)d.side * d.side * d.side;
  d.space = d.boxes * PER_BOX;
  d.box_mem = d.boxes * sizeof(struct box);
  d.space_mem = d.space * sizeof(struct four);
  d.space_mem2 = d.space * sizeof(float);
  struct box *boxes = calloc(d.boxes, sizeof *boxes);
  struct four *r = calloc(d.space, sizeof *r), *f = calloc(d.space, sizeof *f);
  float *q = calloc(d.space, sizeof *q);
  gpu_part(d, boxes, r, q, f);
  printf("%f\n", f[0].v);
  free(boxes);
  free(r);
  free(f);
  free(q);
  return 0;
}
