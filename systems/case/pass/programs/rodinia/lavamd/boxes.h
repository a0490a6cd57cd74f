#ifndef BOXES_H
#define BOXES_H
#define PER_BOX 100
struct dims {
  int side;
  long boxes, space, box_mem, space_mem, space_mem2;
};
struct box {
  int x, y, z, number, neighbours[26];
};
struct four {
  float v, x, y, z;
};
#ifdef __cplusplus
extern "C"
#endif
void gpu_part(struct dims d, struct box *boxes, struct four *r, float *q, struct four *f);
#endif
