// SPDX-License-Identifier: Apache-2.0

// Preloaded into a process, lets a test break its disk: while the int in the file that WRITE_FAILURE_FILE names is not 0,
// what is written to files below a folder "recordings", or synchronised there, fails with EIO.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile const int *isBroken;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("WRITE_FAILURE_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) isBroken = page;
}

static int fails(int descriptor) {
    if (!isBroken || !*isBroken) return 0;
    char link[64], target[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) return 0;
    target[length] = 0;
    if (!strstr(target, "/recordings/")) return 0;
    errno = EIO;
    return 1;
}

#define WRAP(type, name, parameters, arguments)                   \
    type name parameters {                                        \
        static type(*real) parameters;                            \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        return fails(descriptor) ? -1 : real arguments;           \
    }

WRAP(ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
WRAP(ssize_t, pwrite, (int descriptor, const void *bytes, size_t count, off_t at), (descriptor, bytes, count, at))
WRAP(ssize_t, pwrite64, (int descriptor, const void *bytes, size_t count, off64_t at), (descriptor, bytes, count, at))
WRAP(ssize_t, pwritev, (int descriptor, const struct iovec *parts, int count, off_t at), (descriptor, parts, count, at))
WRAP(ssize_t, pwritev64, (int descriptor, const struct iovec *parts, int count, off64_t at),
     (descriptor, parts, count, at))
WRAP(int, fdatasync, (int descriptor), (descriptor))
WRAP(int, fsync, (int descriptor), (descriptor))
WRAP(int, ftruncate, (int descriptor, off_t size), (descriptor, size))
WRAP(int, ftruncate64, (int descriptor, off64_t size), (descriptor, size))
