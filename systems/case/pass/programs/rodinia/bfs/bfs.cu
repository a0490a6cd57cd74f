// A graph is read from standard input; a loop with copies runs until nothing changes; one of seven buffers is never freed.
#include <cstdio>
#include <cstdlib>
struct Node {
  int start, count;
};
static int nodes, edges;
__global__ void expand(Node *n, int *e, bool *mask, bool *next, bool *seen, int *cost, int count) {}
__global__ void settle(bool *mask, bool *next, bool *seen, bool *over, int count) {}
int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "r") : stdin;
  if (!file) return 1;
  if (fscanf(file, "%d", &nodes) != 1) nodes = 1000;
  int blocks = 1, threads = nodes;
  if (nodes > 512) {
    blocks = (nodes + 511) / 512;
    threads = 512;
  }
  Node *host = (Node *)malloc(sizeof(Node) * nodes);
  bool *host_mask = (bool *)malloc(nodes);
  for (int i = 0; i < nodes; i++) {
    int start = i, count = 1;
    if (fscanf(file, "%d %d", &start, &count) < 0) count = 1;
    host[i].start = start;
    host[i].count = count;
    host_mask[i] = false;
  }
  if (fscanf(file, "%d", &edges) != 1) edges = nodes;
  int *host_edges = (int *)malloc(sizeof(int) * edges);
  for (int i = 0; i < edges; i++) host_edges[i] = i % nodes;
  Node *d_nodes;
  cudaMalloc((void **)&d_nodes, sizeof(Node) * nodes);
  cudaMemcpy(d_nodes, host, sizeof(Node) * nodes, cudaMemcpyHostToDevice);
  int *d_edges, *d_cost;
  cudaMalloc((void **)&d_edges, sizeof(int) * edges);
  cudaMemcpy(d_edges, host_edges, sizeof(int) * edges, cudaMemcpyHostToDevice);
  bool *d_mask, *d_next, *d_seen, *d_over;
  cudaMalloc((void **)&d_mask, sizeof(bool) * nodes);
  cudaMemcpy(d_mask, host_mask, sizeof(bool) * nodes, cudaMemcpyHostToDevice);
  cudaMalloc((void **)&d_next, sizeof(bool) * nodes);
  cudaMalloc((void **)&d_seen, sizeof(bool) * nodes);
  int *cost = (int *)malloc(sizeof(int) * nodes);
  for (int i = 0; i < nodes; i++) cost[i] = -1;
  cudaMalloc((void **)&d_cost, sizeof(int) * nodes);
  cudaMemcpy(d_cost, cost, sizeof(int) * nodes, cudaMemcpyHostToDevice);
  cudaMalloc((void **)&d_over, sizeof(bool));
  printf("copied\n");
  dim3 grid(blocks, 1, 1), block(threads, 1, 1);
  int k = 0;
  bool stop;
  do {
    stop = false;
    cudaMemcpy(d_over, &stop, sizeof(bool), cudaMemcpyHostToDevice);
    expand<<<grid, block, 0>>>(d_nodes, d_edges, d_mask, d_next, d_seen, d_cost, nodes);
    settle<<<grid, block, 0>>>(d_mask, d_next, d_seen, d_over, nodes);
    cudaMemcpy(&stop, d_over, sizeof(bool), cudaMemcpyDeviceToHost);
    k++;
  } while (stop);
  printf("%d turns\n", k);
  cudaMemcpy(cost, d_cost, sizeof(int) * nodes, cudaMemcpyDeviceToHost);
  free(host);
  free(host_edges);
  free(host_mask);
  free(cost);
  cudaFree(d_nodes);
  cudaFree(d_edges);
  cudaFree(d_mask);
  cudaFree(d_next);
  cudaFree(d_seen);
  cudaFree(d_cost);
}
// files bfs.cu
// trace -> begin 19001 32, end
