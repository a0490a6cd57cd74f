// Two buffers change places each turn.
#include <cstdlib>
__global__ void step(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x]; }
int main(int argc, char **argv) {
  int turns = argc > 1 ? atoi(argv[1]) : 3;
  float *in, *out;
  cudaMalloc(&in, 4096);
  cudaMalloc(&out, 4096);
  for (int i = 0; i < turns; i++) {
    step<<<8, 128>>>(in, out);
    float *t = in;
    in = out;
    out = t;
  }
  cudaFree(in);
  cudaFree(out);
}
// trace -> begin 8192 32, end
// trace 0 -> begin 8192 32, end
// trace 5 -> begin 8192 32, end
