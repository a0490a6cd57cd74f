/* The C interface of MAPA's runtime for shared instances of GPUs.
 *
 * Made from systems/case/runtime/src/c by cbindgen; a test checks that it is current.
 *
 * A loaded object that exports
 *     void mapa_case_observer(uint32_t event, uint64_t task, uint64_t bytes, uint64_t warps);
 * is told of every task: event 1 after it has begun, 2 after it has got more, 3 before it ends. Tasks
 * are numbered by their begin in the process. Calls come one at a time, and must not call back.
 */

#ifndef MAPA_CASE_H
#define MAPA_CASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// The call has done what it should.
#define CASE_OK 0

// So much memory can never be had.
#define CASE_OUT_OF_MEMORY 1

// The manager cannot be reached.
#define CASE_NO_MANAGER 2

// The manager refuses: a quota, or a call that makes no sense.
#define CASE_REFUSED 3

// No such task is open.
#define CASE_NO_TASK 4

// The process may ask for more while it holds this.
#define CASE_MAY_EXTEND 1

// The number of warps is not known.
#define CASE_UNKNOWN_WARPS 2

// The caller cannot handle a refusal: it ends the process, with a line on standard error.
#define CASE_EXIT_ON_REFUSAL 4

// The exit status of a process that a refusal ends: EX_UNAVAILABLE, as `mapa run` has it.
#define CASE_EXIT 69

// A stream.
typedef void *case_stream;

// The number of blocks, or of threads of a block: CUDA's dim3.
typedef struct case_dim3 {
  // Along the first axis.
  unsigned int x;
  // Along the second axis.
  unsigned int y;
  // Along the third axis.
  unsigned int z;
} case_dim3;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Notes what a module knows before the first task: the bytes of its largest task, 0 if not known,
// and CASE_MAY_EXTEND if it has lazy tasks or nested ones. To be called from a constructor of each
// module; the largest number counts. Neither connects nor fails.
int case_init(uint64_t largest, uint32_t flags);

// Asks for the memory of a task, and waits for it. `task` is any number by which the program knows
// it. The first task binds the process to an instance: it sets CUDA_VISIBLE_DEVICES and
// CUDA_MPS_PIPE_DIRECTORY, so no call may have reached CUDA before, and no other thread may read or
// write the environment meanwhile (getenv, setenv, and what calls them).
int case_task_begin(uint64_t task, uint64_t bytes, uint64_t warps, uint32_t flags);

// Asks for more memory of an open task, and waits for it.
int case_task_extend(uint64_t task, uint64_t bytes, uint64_t warps);

// Gives back all of an open task: of several with this number the latest that this thread has
// begun, else the oldest.
int case_task_end(uint64_t task);

// Ends every open task, and the session: for a process that goes on and has freed its memory. At its
// exit nothing is to be called. The manager sees its death, and what it held is free then.
void case_destroy(void);

// Asks for all that is pending, and returns the real pointer for one that may be a placeholder. For
// arguments of functions that are not seen.
void *case_lazy_resolve(void *pointer);

// Binds the process before a call that reaches the driver and is none of those here. If it cannot be
// bound the process ends, with a line on standard error, as with CASE_EXIT_ON_REFUSAL: the call would reach a
// device of others.
void case_lazy_touch(void);

// cudaMalloc.
int case_lazy_malloc(void **pointer, uintptr_t bytes);

// cudaMallocManaged. The host uses the memory too, so it is asked for at once.
int case_lazy_malloc_managed(void **pointer, uintptr_t bytes, unsigned int flags);

// cudaMallocPitch. It tells the pitch, so the memory is asked for at once.
int case_lazy_malloc_pitch(void **pointer, uintptr_t *pitch, uintptr_t width, uintptr_t height);

// cudaMallocHost. It is no memory of the device, but reaches the driver.
int case_lazy_malloc_host(void **pointer, uintptr_t bytes);

// cudaHostAlloc. It is no memory of the device, but reaches the driver.
int case_lazy_host_alloc(void **pointer, uintptr_t bytes, unsigned int flags);

// cudaFree.
int case_lazy_free(void *pointer);

// cudaMemcpy2D.
int case_lazy_memcpy_2d(void *to,
                        uintptr_t to_pitch,
                        const void *from,
                        uintptr_t from_pitch,
                        uintptr_t width,
                        uintptr_t height,
                        int kind);

// cudaMallocAsync. The memory is asked for at once.
int case_lazy_malloc_async(void **pointer, uintptr_t bytes, case_stream stream);

// cudaFreeAsync.
int case_lazy_free_async(void *pointer, case_stream stream);

// cudaMemcpyAsync.
int case_lazy_memcpy_async(void *to,
                           const void *from,
                           uintptr_t bytes,
                           int kind,
                           case_stream stream);

// cudaMemsetAsync.
int case_lazy_memset_async(void *to, int value, uintptr_t bytes, case_stream stream);

// cudaLaunchKernel, with the number of the kernel's parameters, and the size of each in bytes.
int case_lazy_launch(const void *kernel,
                     struct case_dim3 grid,
                     struct case_dim3 block,
                     void **arguments,
                     uintptr_t shared,
                     case_stream stream,
                     uint32_t count,
                     const uint64_t *sizes);

// cudaMemcpy.
int case_lazy_memcpy(void *to, const void *from, uintptr_t bytes, int kind);

// cudaMemset.
int case_lazy_memset(void *to, int value, uintptr_t bytes);

// cudaMemcpyToSymbol.
int case_lazy_memcpy_to_symbol(const void *symbol,
                               const void *from,
                               uintptr_t bytes,
                               uintptr_t offset,
                               int kind);

// cudaMemcpyFromSymbol.
int case_lazy_memcpy_from_symbol(void *to,
                                 const void *symbol,
                                 uintptr_t bytes,
                                 uintptr_t offset,
                                 int kind);

// cudaGetLastError. That of a launch which never reached CUDA comes first.
int case_lazy_get_last_error(void);

// cudaPeekAtLastError. That of a launch which never reached CUDA comes first.
int case_lazy_peek_at_last_error(void);

// cudaGetErrorString. Without a runtime there is no text.
const char *case_lazy_get_error_string(int error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MAPA_CASE_H */
