/* A driver of Vulkan in front of the real one, with which a device has as much memory as one says: what a program does when
 * memory runs out is tried with it, where the device's memory is the machine's own.
 *
 *   gcc -O2 -shared -fPIC -o FOLDER/liblimited.so limited.c -ldl
 *   VK_DRIVER_FILES=JSON REAL_DRIVER=/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so MEMORY=BYTES MEMORY_LOG=FILE COMMAND
 *
 * JSON names the library, as the real driver's own file does. An allocation that would make more than MEMORY bytes of them
 * is answered as a driver does; without MEMORY, none is. At the end, the most bytes that were there at once and the number
 * of refusals are in MEMORY_LOG.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef Function (*Lookup)(void *, const char *);

/* VkMemoryAllocateInfo. */
struct Wanted {
    uint32_t type;
    const void *next;
    uint64_t bytes;
    uint32_t memory_type;
};

/* VK_ERROR_OUT_OF_DEVICE_MEMORY. */
enum { OUT_OF_DEVICE_MEMORY = -2, PLACES = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t memory, bytes;
} held[PLACES];
static uint64_t in_use, most, refusals, limit = UINT64_MAX;
static Lookup of_instance, of_device, of_physical_device;
static int32_t (*negotiate)(uint32_t *);
static int32_t (*allocate)(void *, const struct Wanted *, const void *, uint64_t *);
static void (*release)(void *, uint64_t, const void *);

static int32_t limited_allocate(void *device, const struct Wanted *wanted, const void *allocator, uint64_t *memory) {
    pthread_mutex_lock(&lock);
    int32_t result = OUT_OF_DEVICE_MEMORY;
    if (in_use + wanted->bytes > limit) {
        refusals++;
    } else if ((result = allocate(device, wanted, allocator, memory)) == 0) {
        int at = 0;
        while (at < PLACES && held[at].memory)
            at++;
        if (at == PLACES)
            abort();
        held[at].memory = *memory;
        held[at].bytes = wanted->bytes;
        in_use += wanted->bytes;
        most = in_use > most ? in_use : most;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static void limited_release(void *device, uint64_t memory, const void *allocator) {
    pthread_mutex_lock(&lock);
    for (int at = 0; memory && at < PLACES; at++)
        if (held[at].memory == memory) {
            in_use -= held[at].bytes;
            held[at].memory = 0;
            break;
        }
    release(device, memory, allocator);
    pthread_mutex_unlock(&lock);
}

static Function limited_of_device(void *device, const char *name) {
    Function found = of_device(device, name);
    if (!strcmp(name, "vkAllocateMemory") && found) {
        allocate = (int32_t(*)(void *, const struct Wanted *, const void *, uint64_t *))found;
        return (Function)limited_allocate;
    }
    if (!strcmp(name, "vkFreeMemory") && found) {
        release = (void (*)(void *, uint64_t, const void *))found;
        return (Function)limited_release;
    }
    return found;
}

static void tell(void) {
    const char *log = getenv("MEMORY_LOG");
    FILE *file = log ? fopen(log, "w") : NULL;
    if (file) {
        fprintf(file, "%lu %lu\n", (unsigned long)most, (unsigned long)refusals);
        fclose(file);
    }
}

__attribute__((constructor)) static void begin(void) {
    const char *real = getenv("REAL_DRIVER"), *bytes = getenv("MEMORY");
    void *driver = dlopen(real ? real : "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        fprintf(stderr, "limited Vulkan: %s\n", dlerror());
        exit(1);
    }
    of_instance = (Lookup)dlsym(driver, "vk_icdGetInstanceProcAddr");
    of_physical_device = (Lookup)dlsym(driver, "vk_icdGetPhysicalDeviceProcAddr");
    negotiate = (int32_t(*)(uint32_t *))dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion");
    if (bytes)
        limit = strtoull(bytes, NULL, 10);
    atexit(tell);
}

int32_t vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) { return negotiate(version); }

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) { return of_physical_device(instance, name); }

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
    Function found = of_instance(instance, name);
    if (!strcmp(name, "vk_icdGetInstanceProcAddr"))
        return (Function)vk_icdGetInstanceProcAddr;
    if (!strcmp(name, "vkGetDeviceProcAddr") && found) {
        of_device = (Lookup)found;
        return (Function)limited_of_device;
    }
    return found;
}
