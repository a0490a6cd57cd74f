// graph: takes and frees memory in a stream that is captured, runs the graph, and does the same without a graph.
#include <cstdio>
__global__ void square(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x] * from[threadIdx.x]; }
__global__ void count(int *to) { to[threadIdx.x] = threadIdx.x; }
#define MUST(call) if (cudaError_t e = (call)) { printf("%s: %s\n", #call, cudaGetErrorName(e)); return 1; }
static int work(cudaStream_t stream, int *host) {
  int *a, *b;
  MUST(cudaMallocAsync((void **)&a, 256 << 20, stream));
  MUST(cudaMallocAsync((void **)&b, 256 << 20, stream));
  count<<<1, 64, 0, stream>>>(a);
  square<<<1, 64, 0, stream>>>(a, b);
  MUST(cudaMemcpyAsync(host, b, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream));
  MUST(cudaFreeAsync(a, stream));
  MUST(cudaFreeAsync(b, stream));
  return 0;
}
int main() {
  int *host;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  MUST(cudaMallocHost((void **)&host, 64 * sizeof(int)));
  MUST(cudaStreamCreate(&stream));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  if (work(stream, host)) return 1;
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < 64; i++) host[i] = -1;
    if (turn < 2) { MUST(cudaGraphLaunch(exec, stream)); } else if (work(stream, host)) return 1;
    MUST(cudaStreamSynchronize(stream));
    for (int i = 0; i < 64; i++) if (host[i] != i * i) { printf("turn %d: %d squared is not %d\n", turn, i, host[i]); return 2; }
  }
  printf("the graph is right\n");
  return 0;
}
