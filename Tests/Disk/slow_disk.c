// SPDX-License-Identifier: Apache-2.0

// A disk that is slow to synchronise, for a program that is started with this library preloaded:
//   cc -shared -fPIC -o slow_disk.so Tests/Disk/slow_disk.c -ldl
//   LD_PRELOAD=$PWD/slow_disk.so SLOW_DISK_SYNC_MS=1500 tapedeck record …
// SLOW_DISK_SYNC_MS is how long fdatasync and fsync take, in milliseconds, also those of io_submit, which take it one after
// the other and before they are handed over; while there is a file SLOW_DISK_HOLD, they do not end at all, and each that waits is a file next to it, SLOW_DISK_HOLD.<thread>. The content of the file, if
// any, is a part of the paths that this applies to. SLOW_DISK_HOLD_WRITES is the same for write, pwrite and pwritev,
// but without a part of a path in it nothing is held.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_held(const char *hold, int descriptor, int needs_part) {
    char part[256] = "", link[64], path[4096] = "";
    int file = open(hold, O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, part, sizeof part - 1);
    close(file);
    if (length <= 0) return !needs_part;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (readlink(link, path, sizeof path - 1) < 0) return 0;
    return strstr(path, part) != NULL;
}

static void wait_while_held(const char *hold, int descriptor, int needs_part) {
    if (hold == NULL || !is_held(hold, descriptor, needs_part)) return;
    char waiting[4096];
    snprintf(waiting, sizeof waiting, "%s.%d", hold, (int)gettid());
    int file = open(waiting, O_WRONLY | O_CREAT, 0600);
    if (file >= 0) close(file);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 20000000};
    while (is_held(hold, descriptor, needs_part)) nanosleep(&pause, NULL);
    unlink(waiting);
}

static void wait_for_disk(int descriptor) {
    const char *text = getenv("SLOW_DISK_SYNC_MS");
    long milliseconds = text != NULL ? atol(text) : 0;
    struct timespec span = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    while (nanosleep(&span, &span) != 0) {}
    wait_while_held(getenv("SLOW_DISK_HOLD"), descriptor, 0);
}

static void wait_to_write(int descriptor) {
    int before = errno;
    wait_while_held(getenv("SLOW_DISK_HOLD_WRITES"), descriptor, 1);
    errno = before;
}

int fdatasync(int descriptor) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_for_disk(descriptor);
    return next(descriptor);
}

int fsync(int descriptor) {
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_for_disk(descriptor);
    return next(descriptor);
}

long syscall(long number, ...) {
    static long (*next)(long, ...);
    if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) arguments[index] = va_arg(list, long);
    va_end(list);
    for (long index = 0; number == SYS_io_submit && index < arguments[1]; index++) {
        wait_for_disk((int)((struct iocb **)arguments[2])[index]->aio_fildes);
    }
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (next == NULL) next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    wait_to_write(descriptor);
    return next(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    ssize_t (*next)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    wait_to_write(descriptor);
    return next(descriptor, bytes, count, offset);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    ssize_t (*next)(int, const struct iovec *, int, off_t) =
        (ssize_t (*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "pwritev");
    wait_to_write(descriptor);
    return next(descriptor, parts, count, offset);
}
