/* A network is trained: main in C, the GPU's part in a second file. Written for these tests in the shape of Rodinia's. */
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
struct net *make_net(int in, int hidden) {
  struct net *n = malloc(sizeof *n);
  n->in = in;
  n->hidden = hidden;
  n->units = calloc(in + 1, sizeof(float));
  n->weights = calloc((size_t)(in + 1) * (hidden + 1), sizeof(float));
  return n;
}
void adjust(struct net *n, const float *sums, int count) {
  for (int i = 0; i < count; i++) n->units[i % n->in] += sums[i];
}
int main(int argc, char **argv) {
  if (argc > 2) {
    fprintf(stderr, "usage: backprop [LAYER]\n");
    return 2;
  }
  int layer = argc > 1 ? atoi(argv[1]) : 256;
  if (layer % 16 != 0) {
    fprintf(stderr, "LAYER: expected a multiple of 16\n");
    return 3;
  }
  struct net *n = make_net(layer, 16);
  train(n);
  printf("%f\n", n->units[0]);
  free(n->units);
  free(n->weights);
  free(n);
  return 0;
}
