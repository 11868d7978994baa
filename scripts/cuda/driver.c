/* A CUDA driver that computes nothing, for a look at what a program would run on a GPU that is not there. Memory is the
   host's, copies copy, and a kernel changes nothing: numbers that come back mean nothing. Every module is written to the
   folder PTX_OUT as PTX, once, and the number of launches to launches.txt in it when the program ends. SM is the
   architecture, as in 90, and MEMORY, where it is set, the bytes of the device that can be taken at once. See
   scripts/cuda-kernels.sh. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int Result;
typedef unsigned long long Address;
enum { SUCCESS = 0, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801 };
#define DO(name, arguments, work) Result name arguments { work; return SUCCESS; }
#define NOTHING(name, arguments) DO(name, arguments, )

static long launches;
static int sm(void) { const char *s = getenv("SM"); return s ? atoi(s) : 90; }
static const char *folder(void) { const char *s = getenv("PTX_OUT"); return s ? s : "."; }

static void tell(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/launches.txt", folder());
  FILE *file = fopen(path, "w");
  if (file) { fprintf(file, "%ld\n", launches); fclose(file); }
}

/* The device and its context. */
DO(cuInit, (unsigned flags), static int known; if (!known++) atexit(tell))
DO(cuDriverGetVersion, (int *version), *version = 12090)
DO(cuDeviceGetCount, (int *count), *count = 1)
DO(cuDeviceGet, (int *device, int at), *device = at)
DO(cuDeviceGetName, (char *name, int size, int device), snprintf(name, size, "no GPU, for sm_%d", sm()))
DO(cuDeviceGetUuid, (char *id, int device), memset(id, 7, 16))
DO(cuDeviceGetUuid_v2, (char *id, int device), memset(id, 7, 16))
Result cuDeviceGetLuid(char *id, unsigned *mask, int device) { return NOT_SUPPORTED; }
DO(cuDeviceGetPCIBusId, (char *id, int size, int device), snprintf(id, size, "0000:01:00.0"))
DO(cuDeviceTotalMem_v2, (size_t *bytes, int device), *bytes = 16ull << 30)
DO(cuMemGetInfo_v2, (size_t *left, size_t *all), *left = *all = 16ull << 30)
DO(cuDeviceCanAccessPeer, (int *can, int device, int other), *can = 0)

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  int data_center = sm() >= 90 || sm() == 80;
  switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;                              /* threads of a block, and by side */
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;                                        /* blocks by side */
    case 6: case 7: *value = 65535; break;
    case 8: *value = 48 << 10; break;                                          /* shared memory of a block */
    case 10: *value = 32; break;                                               /* threads of a warp */
    case 12: *value = 65536; break;                                            /* registers of a block */
    case 13: *value = 1500000; break;                                          /* clock, kHz */
    case 16: *value = data_center ? 132 : 64; break;                           /* multiprocessors */
    case 38: *value = 50 << 20; break;                                         /* L2 */
    case 39: *value = 2048; break;                                             /* threads of a multiprocessor */
    case 75: *value = sm() / 10; break;
    case 76: *value = sm() % 10; break;
    case 81: *value = sm() >= 90 ? 228 << 10 : 164 << 10; break;               /* shared memory of a multiprocessor */
    case 97: *value = sm() >= 90 ? 227 << 10 : 163 << 10; break;               /* of a block that asks for it */
    case 115: *value = 1; break;                                               /* memory pools */
    default: *value = 0;
  }
  return SUCCESS;
}

DO(cuDevicePrimaryCtxRetain, (void **context, int device), *context = (void *)0x10)
NOTHING(cuDevicePrimaryCtxRelease_v2, (int device))
NOTHING(cuCtxSetCurrent, (void *context))
DO(cuCtxGetCurrent, (void **context), *context = (void *)0x10)
NOTHING(cuCtxPushCurrent_v2, (void *context))
DO(cuCtxPopCurrent_v2, (void **context), *context = (void *)0x10)
DO(cuCtxGetDevice, (int *device), *device = 0)
NOTHING(cuCtxSynchronize, (void))
DO(cuCtxGetStreamPriorityRange, (int *least, int *most), *least = *most = 0)
NOTHING(cuCtxEnablePeerAccess, (void *context, unsigned flags))

/* Streams, whose work is done when it is asked for, and events, which are moments. */
DO(cuStreamCreate, (void **stream, unsigned flags), *stream = (void *)0x20)
DO(cuStreamCreateWithPriority, (void **stream, unsigned flags, int priority), *stream = (void *)0x20)
NOTHING(cuStreamDestroy_v2, (void *stream))
NOTHING(cuStreamSynchronize, (void *stream))
NOTHING(cuStreamQuery, (void *stream))
NOTHING(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))
DO(cuStreamIsCapturing, (void *stream, int *capturing), *capturing = 0)
DO(cuEventCreate, (void **event, unsigned flags), *event = calloc(1, sizeof(struct timespec)))
DO(cuEventDestroy_v2, (void *event), free(event))
DO(cuEventRecord, (void *event, void *stream), clock_gettime(CLOCK_MONOTONIC, event))
DO(cuEventRecordWithFlags, (void *event, void *stream, unsigned flags), clock_gettime(CLOCK_MONOTONIC, event))
NOTHING(cuEventSynchronize, (void *event))
NOTHING(cuEventQuery, (void *event))
static Result between(float *milliseconds, struct timespec *from, struct timespec *to) {
  double found = (to->tv_sec - from->tv_sec) * 1e3 + (to->tv_nsec - from->tv_nsec) * 1e-6;
  *milliseconds = found > 1e-3 ? found : 1e-3;
  return SUCCESS;
}
Result cuEventElapsedTime(float *milliseconds, void *from, void *to) { return between(milliseconds, from, to); }
Result cuEventElapsedTime_v2(float *milliseconds, void *from, void *to) { return between(milliseconds, from, to); }

/* Memory. */
static size_t taken;
static Result take_of_host(Address *at, size_t bytes) {
  void *found = NULL;
  if (posix_memalign(&found, 512, bytes ? bytes : 512)) return OUT_OF_MEMORY;
  *at = (uintptr_t)found;
  return SUCCESS;
}
static Result take(Address *at, size_t bytes) {
  const char *most = getenv("MEMORY");
  if (take_of_host(at, bytes)) return OUT_OF_MEMORY;
  void *found = (void *)(uintptr_t)*at;
  size_t size = malloc_usable_size(found);
  if (__sync_add_and_fetch(&taken, size) > (most ? strtoull(most, NULL, 10) : SIZE_MAX)) {
    __sync_sub_and_fetch(&taken, size);
    free(found);
    return OUT_OF_MEMORY;
  }
  return SUCCESS;
}
static void give(Address at) {
  void *found = (void *)(uintptr_t)at;
  __sync_sub_and_fetch(&taken, malloc_usable_size(found));
  free(found);
}
static void copy(Address to, Address from, size_t bytes) { memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes); }
Result cuMemAlloc_v2(Address *at, size_t bytes) { return take(at, bytes); }
Result cuMemAllocAsync(Address *at, size_t bytes, void *stream) { return take(at, bytes); }
Result cuMemAllocHost_v2(Address *at, size_t bytes) { return take_of_host(at, bytes); }
Result cuMemHostAlloc(Address *at, size_t bytes, unsigned flags) { return take_of_host(at, bytes); }
DO(cuMemFree_v2, (Address at), give(at))
DO(cuMemFreeAsync, (Address at, void *stream), give(at))
DO(cuMemFreeHost, (void *at), free(at))
DO(cuMemcpyHtoD_v2, (Address to, Address from, size_t bytes), copy(to, from, bytes))
DO(cuMemcpyDtoH_v2, (Address to, Address from, size_t bytes), copy(to, from, bytes))
DO(cuMemcpyHtoDAsync_v2, (Address to, Address from, size_t bytes, void *stream), copy(to, from, bytes))
DO(cuMemcpyDtoHAsync_v2, (Address to, Address from, size_t bytes, void *stream), copy(to, from, bytes))
DO(cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, void *stream), copy(to, from, bytes))
DO(cuMemsetD8_v2, (Address at, unsigned char value, size_t bytes), memset((void *)(uintptr_t)at, value, bytes))
DO(cuMemsetD8Async, (Address at, unsigned char value, size_t bytes, void *stream), memset((void *)(uintptr_t)at, value, bytes))

/* A side of a copy of rows: the place in bytes and rows, the kind of memory, and its address by kind (1 is the host). */
typedef struct { size_t x, y; int kind; Address host, device; void *array; size_t pitch; } Side;
typedef struct { Side from, to; size_t bytes, rows; } Rows;
static Address row(const Side *side, size_t at) {
  return (side->kind == 1 ? side->host : side->device) + (side->y + at) * side->pitch + side->x;
}
Result cuMemcpy2DAsync_v2(const Rows *rows, void *stream) {
  for (size_t at = 0; at < rows->rows; at++) copy(row(&rows->to, at), row(&rows->from, at), rows->bytes);
  return SUCCESS;
}

/* Modules: each is a file by the hash of its text. */
Result cuModuleLoadData(void **module, const void *image) {
  uint64_t hash = 14695981039346656037ull;
  for (const unsigned char *at = image; *at; at++) hash = (hash ^ *at) * 1099511628211ull;
  char path[4096];
  snprintf(path, sizeof path, "%s/%016llx.ptx", folder(), (unsigned long long)hash);
  FILE *file = fopen(path, "w");
  if (!file) return NOT_SUPPORTED;
  fputs(image, file);
  fclose(file);
  *module = (void *)0x30;
  return SUCCESS;
}
Result cuModuleLoadDataEx(void **module, const void *image, unsigned count, void *options, void *values) {
  return cuModuleLoadData(module, image);
}
/* CubeCL measures how fast a device is with longer and longer work until that takes a while, and its counts of work would
   overflow. So a launch takes a moment, and one of those kernels as long as is asked for. */
#define SLOW ((void *)0x40)
DO(cuModuleGetFunction, (void **function, void *module, const char *name), *function = strstr(name, "_throughput") ? SLOW : module)
NOTHING(cuModuleUnload, (void *module))
NOTHING(cuFuncSetAttribute, (void *function, int attribute, int value))
DO(cuFuncGetAttribute, (int *value, int attribute, void *function), *value = 0)
static Result launch(void *function) {
  struct timespec moment = {0, function == SLOW ? 25000000 : 100000};
  __sync_fetch_and_add(&launches, 1);
  nanosleep(&moment, NULL);
  return SUCCESS;
}
Result cuLaunchKernel(void *function) { return launch(function); }
Result cuLaunchKernelEx(const void *config, void *function) { return launch(function); }
DO(cuTensorMapEncodeTiled, (void *map), memset(map, 0, 128))
DO(cuTensorMapEncodeIm2col, (void *map), memset(map, 0, 128))
DO(cuTensorMapEncodeIm2colWide, (void *map), memset(map, 0, 128))
DO(cuGetErrorName, (Result result, const char **name), *name = "CUDA_ERROR")
DO(cuGetErrorString, (Result result, const char **text), *text = "an error of a driver that computes nothing")
