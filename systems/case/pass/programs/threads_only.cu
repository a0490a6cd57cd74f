// A file without a call of CUDA's that starts threads: other files may have tasks in them.
#include <pthread.h>
static void *work(void *) { return nullptr; }
int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, work, nullptr);
  pthread_join(thread, nullptr);
}
// trace ->
// CHECK: call i32 @case_init(i64 0, i32 1)
