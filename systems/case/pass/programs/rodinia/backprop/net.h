#ifndef NET_H
#define NET_H
struct net {
  int in, hidden;
  float *units, *weights;
};
#ifdef __cplusplus
extern "C" {
#endif
void train(struct net *n);
void adjust(struct net *n, const float *sums, int count);
#ifdef __cplusplus
}
#endif
#endif
