/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports GLib's locks, and the contended ones of Swift, to ThreadSanitizer, when loaded before GLib (LD_PRELOAD): both
 * are made of futexes, in libraries that were built without the sanitizer, and the data that they guard would look like
 * a race. The sanitizer sees all of Swift's Mutex except the waiting, which is not compiled into its callers.
 *
 * It misses calls that GLib makes inside of itself, such as those of a GAsyncQueue; it sees those of GStreamer and
 * ours.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Weak: the processes between (env, swift) have no sanitizer. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static void acquire(void *address) {
    if (__tsan_acquire) __tsan_acquire(address);
}

static void release(void *address) {
    if (__tsan_release) __tsan_release(address);
}

#define REAL_NAMED(name, symbol) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, symbol)

#define REAL(name) REAL_NAMED(name, #name)

#define LOCK(name, argument) \
    void name(argument *lock) { \
        REAL(name); \
        real(lock); \
        acquire(lock); \
    }

#define TRY(name, argument) \
    gboolean name(argument *lock) { \
        REAL(name); \
        gboolean is_taken = real(lock); \
        if (is_taken) acquire(lock); \
        return is_taken; \
    }

#define UNLOCK(name, argument) \
    void name(argument *lock) { \
        REAL(name); \
        release(lock); \
        real(lock); \
    }

LOCK(g_mutex_lock, GMutex)
TRY(g_mutex_trylock, GMutex)
UNLOCK(g_mutex_unlock, GMutex)
LOCK(g_rec_mutex_lock, GRecMutex)
TRY(g_rec_mutex_trylock, GRecMutex)
UNLOCK(g_rec_mutex_unlock, GRecMutex)
/* Readers count as writers: that hides races of readers that write, and makes none. */
LOCK(g_rw_lock_writer_lock, GRWLock)
UNLOCK(g_rw_lock_writer_unlock, GRWLock)
LOCK(g_rw_lock_reader_lock, GRWLock)
UNLOCK(g_rw_lock_reader_unlock, GRWLock)

void g_cond_wait(GCond *condition, GMutex *mutex) {
    REAL(g_cond_wait);
    release(mutex);
    real(condition, mutex);
    acquire(mutex);
}

gboolean g_cond_wait_until(GCond *condition, GMutex *mutex, gint64 end) {
    REAL(g_cond_wait_until);
    release(mutex);
    gboolean is_signalled = real(condition, mutex, end);
    acquire(mutex);
    return is_signalled;
}

gboolean (g_once_init_enter)(volatile void *location) {
    REAL(g_once_init_enter);
    gboolean is_first = real(location);
    if (!is_first) acquire((void *)location);
    return is_first;
}

void (g_once_init_leave)(volatile void *location, gsize result) {
    REAL(g_once_init_leave);
    release((void *)location);
    real(location, result);
}

/* Swift's Mutex once it is held by another thread, in libswiftSynchronization: `_MutexHandle` with the lock's word as self. */
#define SWIFT(name) __attribute__((swiftcall)) name
#define SELF __attribute__((swift_context)) void *lock
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT(void) lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT(bool) try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT(void) unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT(void) lock_slow(uint32_t thread, SELF) {
    REAL_NAMED(lock_slow, LOCK_SLOW);
    real(thread, lock);
    acquire(lock);
}

SWIFT(bool) try_lock_slow(SELF) {
    REAL_NAMED(try_lock_slow, TRY_LOCK_SLOW);
    bool is_taken = real(lock);
    if (is_taken) acquire(lock);
    return is_taken;
}

SWIFT(void) unlock_slow(SELF) {
    REAL_NAMED(unlock_slow, UNLOCK_SLOW);
    release(lock);
    real(lock);
}

/* A source that is attached is run by the context's thread. */
guint g_source_attach(GSource *source, GMainContext *context) {
    REAL(g_source_attach);
    release(context ? (void *)context : (void *)g_main_context_default());
    return real(source, context);
}

gboolean g_main_context_iteration(GMainContext *context, gboolean may_block) {
    REAL(g_main_context_iteration);
    gboolean has_run = real(context, may_block);
    acquire(context ? (void *)context : (void *)g_main_context_default());
    return has_run;
}
