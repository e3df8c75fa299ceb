// SPDX-License-Identifier: Apache-2.0

// Keeps a log of everything that a program does to the files below POWER_CUT_ROOT, with the data that it writes, and of
// all its reports on standard output and error, in the file POWER_CUT_LOG: power_cut.py derives from it the files that
// a power cut leaves. All processes with the library preloaded append to one log.
//   cc -shared -fPIC -o power_cut.so Tests/Disk/power_cut.c -ldl
//
// A record is a line "<kind> <device>:<inode> <offset> <length of path> <length of data>\n", the path and the data. A
// change of a file is logged when it was done and before the caller knows; a report before it is made. Events whose
// order the program knows therefore have the same order in the log. Kinds:
//   C a file is created at a path       W bytes are written at an offset    T a file is cut to a size
//   D a directory is created            R a path (the data) is renamed      U a path is removed
//   S, E a synchronisation begins, and ends well; the offset is its number  L a path (the data) gets another name
//   M a report

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int logFile = -1;
static char root[PATH_MAX];
static size_t rootLength;
static atomic_long number;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("POWER_CUT_LOG"), *below = getenv("POWER_CUT_ROOT");
    if (!path || !below || !realpath(below, root)) return;
    rootLength = strlen(root);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    // Out of the way: programs close and duplicate small numbers.
    logFile = (int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 500);
    syscall(SYS_close, file);
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int isBelow(const char *path) {
    return logFile >= 0 && strncmp(path, root, rootLength) == 0 && (path[rootLength] == '/' || !path[rootLength]);
}

static int pathOf(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

// The path of a name: that of its folder without links, and the name.
static int resolve(int folder, const char *name, char *path) {
    if (logFile < 0) return 0;
    char whole[2 * PATH_MAX], parent[PATH_MAX], base[PATH_MAX];
    if (name[0] == '/') {
        snprintf(whole, sizeof whole, "%s", name);
    } else {
        if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !pathOf(folder, base)) return 0;
        snprintf(whole, sizeof whole, "%s/%s", base, name);
    }
    size_t length = strlen(whole);
    while (length > 1 && whole[length - 1] == '/') whole[--length] = 0;
    char *slash = strrchr(whole, '/');
    char *last = slash + 1;
    *slash = 0;
    if (!realpath(whole[0] ? whole : "/", parent)) return 0;
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", strcmp(parent, "/") ? parent : "", last) >= PATH_MAX) return 0;
    return isBelow(path);
}

static void record(char kind, const struct stat *file, long offset, const char *path, const void *data, size_t count) {
    int before = errno;
    char head[160];
    int length = snprintf(head, sizeof head, "%c %lu:%lu %ld %zu %zu\n", kind, file ? (unsigned long)file->st_dev : 0,
                          file ? (unsigned long)file->st_ino : 0, offset, strlen(path), count);
    struct iovec parts[] = {{head, (size_t)length}, {(void *)path, strlen(path)}, {(void *)data, count}};
    syscall(SYS_writev, logFile, parts, 3);
    errno = before;
}

// Whether a descriptor is of a file or folder below the root.
static int isLogged(int descriptor, struct stat *file) {
    int before = errno;
    char path[PATH_MAX];
    int is = logFile >= 0 && descriptor != logFile && fstat(descriptor, file) == 0
        && (S_ISREG(file->st_mode) || S_ISDIR(file->st_mode)) && pathOf(descriptor, path) && isBelow(path);
    errno = before;
    return is;
}

static int opened(int (*real)(int, const char *, int, ...), int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat file;
    if ((flags & (O_CREAT | O_TRUNC)) == 0 || (flags & O_TMPFILE) == O_TMPFILE || !resolve(folder, name, path))
        return real(folder, name, flags, mode);
    // O_EXCL shows whether this call creates the file.
    int isNew = 1, descriptor = -1;
    if (flags & O_CREAT) descriptor = real(folder, name, flags | O_EXCL, mode);
    if (descriptor < 0 && (!(flags & O_CREAT) || (errno == EEXIST && !(flags & O_EXCL)))) {
        isNew = 0;
        descriptor = real(folder, name, flags, mode);
    }
    if (descriptor < 0 || fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return descriptor;
    if (isNew) record('C', &file, 0, path, NULL, 0);
    else if (flags & O_TRUNC) record('T', &file, 0, "", NULL, 0);
    return descriptor;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *name, int flags, ...) { MODE(flags) REAL(openat); return opened(real, AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags) REAL(openat); return opened(real, AT_FDCWD, name, flags, mode); }
int openat(int folder, const char *name, int flags, ...) {
    MODE(flags)
    REAL(openat);
    return opened(real, folder, name, flags, mode);
}
int openat64(int folder, const char *name, int flags, ...) {
    MODE(flags)
    REAL(openat);
    return opened(real, folder, name, flags, mode);
}
int creat(const char *name, mode_t mode) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

// The data of a write that was done.
static void written(const struct stat *file, const struct iovec *parts, int count, off_t at, ssize_t done) {
    if (done <= 0) return;
    char *data = malloc((size_t)done);
    size_t length = 0;
    for (int index = 0; index < count && length < (size_t)done; index++) {
        size_t part = parts[index].iov_len < (size_t)done - length ? parts[index].iov_len : (size_t)done - length;
        memcpy(data + length, parts[index].iov_base, part);
        length += part;
    }
    record('W', file, at, "", data, length);
    free(data);
}

static void reported(int descriptor, const struct iovec *parts, int count) {
    if (logFile < 0 || (descriptor != 1 && descriptor != 2)) return;
    char path[32];
    snprintf(path, sizeof path, "%d", (int)getpid());
    for (int index = 0; index < count; index++) record('M', NULL, descriptor, path, parts[index].iov_base, parts[index].iov_len);
}

// Where a write without an offset goes.
static off_t place(int descriptor, const struct stat *file) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && flags & O_APPEND ? file->st_size : lseek(descriptor, 0, SEEK_CUR);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(writev);
    struct stat file;
    reported(descriptor, parts, count);
    if (!isLogged(descriptor, &file)) return real(descriptor, parts, count);
    off_t at = place(descriptor, &file);
    ssize_t done = real(descriptor, parts, count);
    written(&file, parts, count, at, done);
    return done;
}

ssize_t write(int descriptor, const void *bytes, size_t length) {
    REAL(write);
    struct stat file;
    struct iovec part = {(void *)bytes, length};
    reported(descriptor, &part, 1);
    if (!isLogged(descriptor, &file)) return real(descriptor, bytes, length);
    off_t at = place(descriptor, &file);
    ssize_t done = real(descriptor, bytes, length);
    written(&file, &part, 1, at, done);
    return done;
}

#define PWRITE(name, offset_t) \
    ssize_t name(int descriptor, const void *bytes, size_t length, offset_t at) { \
        REAL(name); \
        struct stat file; \
        struct iovec part = {(void *)bytes, length}; \
        ssize_t done = real(descriptor, bytes, length, at); \
        if (isLogged(descriptor, &file)) written(&file, &part, 1, at, done); \
        return done; \
    }
#define PWRITEV(name, offset_t) \
    ssize_t name(int descriptor, const struct iovec *parts, int count, offset_t at) { \
        REAL(name); \
        struct stat file; \
        ssize_t done = real(descriptor, parts, count, at); \
        if (isLogged(descriptor, &file)) written(&file, parts, count, at, done); \
        return done; \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

#define FTRUNCATE(name, offset_t) \
    int name(int descriptor, offset_t size) { \
        REAL(name); \
        struct stat file; \
        int result = real(descriptor, size); \
        if (result == 0 && isLogged(descriptor, &file)) record('T', &file, size, "", NULL, 0); \
        return result; \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define SYNC(name) \
    int name(int descriptor) { \
        REAL(name); \
        struct stat file; \
        if (!isLogged(descriptor, &file)) return real(descriptor); \
        long call = ((long)getpid() << 32) + atomic_fetch_add(&number, 1); \
        record('S', &file, call, "", NULL, 0); \
        int result = real(descriptor); \
        if (result == 0) record('E', &file, call, "", NULL, 0); \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

// Synchronisations that were handed to the kernel, by the address of their description.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { uint64_t block; long call; struct stat file; } handed[1024];

static void handOver(struct iocb *block) {
    struct stat file;
    if (block->aio_lio_opcode != IOCB_CMD_FDSYNC || !isLogged((int)block->aio_fildes, &file)) return;
    long call = ((long)getpid() << 32) + atomic_fetch_add(&number, 1);
    pthread_mutex_lock(&lock);
    size_t place = 0;
    while (place < 1024 && handed[place].block && handed[place].block != (uintptr_t)block) place++;
    if (place == 1024) abort();
    handed[place].block = (uintptr_t)block;
    handed[place].call = call;
    handed[place].file = file;
    pthread_mutex_unlock(&lock);
    record('S', &file, call, "", NULL, 0);
}

static void ended(const struct io_event *event) {
    pthread_mutex_lock(&lock);
    size_t place = 0;
    while (place < 1024 && handed[place].block != event->obj) place++;
    if (place < 1024) {
        handed[place].block = 0;
        if (event->res == 0) record('E', &handed[place].file, handed[place].call, "", NULL, 0);
    }
    pthread_mutex_unlock(&lock);
}

long syscall(long name, ...) {
    REAL(syscall);
    long arguments[6];
    va_list list;
    va_start(list, name);
    for (int index = 0; index < 6; index++) arguments[index] = va_arg(list, long);
    va_end(list);
    for (long index = 0; name == SYS_io_submit && index < arguments[1]; index++) {
        handOver(((struct iocb **)arguments[2])[index]);
    }
    long result = real(name, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    for (long index = 0; name == SYS_io_getevents && index < result; index++) {
        ended(&((struct io_event *)arguments[3])[index]);
    }
    return result;
}

static int made(int result, int folder, const char *name) {
    char path[PATH_MAX];
    struct stat file;
    if (result == 0 && resolve(folder, name, path) && lstat(path, &file) == 0) record('D', &file, 0, path, NULL, 0);
    return result;
}
int mkdir(const char *name, mode_t mode) { REAL(mkdir); return made(real(name, mode), AT_FDCWD, name); }
int mkdirat(int folder, const char *name, mode_t mode) { REAL(mkdirat); return made(real(folder, name, mode), folder, name); }

static int removed(int result, int isBelowRoot, const char *path) {
    if (result == 0 && isBelowRoot) record('U', NULL, 0, path, NULL, 0);
    return result;
}
#define REMOVE(name) \
    int name(const char *file) { \
        REAL(name); \
        char path[PATH_MAX]; \
        int is = resolve(AT_FDCWD, file, path); \
        return removed(real(file), is, path); \
    }
REMOVE(unlink)
REMOVE(rmdir)
REMOVE(remove)
int unlinkat(int folder, const char *file, int flags) {
    REAL(unlinkat);
    char path[PATH_MAX];
    int is = resolve(folder, file, path);
    return removed(real(folder, file, flags), is, path);
}

static int moved(int (*real)(int, const char *, int, const char *, unsigned), int from, const char *old, int to,
                 const char *new, unsigned flags) {
    char before[PATH_MAX], after[PATH_MAX];
    int is = resolve(from, old, before) & resolve(to, new, after);
    int result = real(from, old, to, new, flags);
    if (result == 0 && is) record('R', NULL, 0, after, before, strlen(before));
    return result;
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    REAL(renameat2);
    return moved(real, from, old, to, new, flags);
}
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }

static int linked(int result, int from, const char *old, int to, const char *new) {
    char before[PATH_MAX], after[PATH_MAX];
    if (result == 0 && resolve(from, old, before) & resolve(to, new, after))
        record('L', NULL, 0, after, before, strlen(before));
    return result;
}
int link(const char *old, const char *new) { REAL(link); return linked(real(old, new), AT_FDCWD, old, AT_FDCWD, new); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REAL(linkat);
    return linked(real(from, old, to, new, flags), from, old, to, new);
}
