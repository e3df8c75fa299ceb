// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckLimits.h"
#include "lower_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

bool CTapedeck_be_ended_first(void) {
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool is_taken = write(file, "900", 3) == 3;
    close(file);
    return is_taken;
}

bool CTapedeck_lower_limit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return false;
    if (limit.rlim_cur > soft) limit.rlim_cur = soft;
    if (limit.rlim_max > hard) limit.rlim_max = hard;
    return setrlimit(resource, &limit) == 0;
}

bool CTapedeck_limit_memory(uint64_t bytes) {
    mallopt(M_ARENA_MAX, 2);
    return CTapedeck_lower_limit(RLIMIT_AS, bytes, bytes);
}

enum { SECONDS_FOR_A_WORD = 10 };

bool CTapedeck_limit_processor_time(uint64_t seconds) {
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0) return false;
    uint64_t end = (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec + 1 + seconds;
    return CTapedeck_lower_limit(RLIMIT_CPU, end, end + SECONDS_FOR_A_WORD);
}

bool CTapedeck_has_address_space(size_t bytes) {
    void *place = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) return false;
    munmap(place, bytes);
    return true;
}

// A process has one handler of a signal: what it writes is of the process, too.
enum { MOST_FILES = 8, EXIT_INCOMPLETE = 5 };
// More than a frame of 16 million pixels takes, or a thread.
static const size_t LARGE = 64 << 20;
static struct {
    int descriptor;
    const char *memory, *processor;
    char files[MOST_FILES][PATH_MAX];
    atomic_uint file_count;
} at_limit;

// Any thread, at any instruction: signal-safety(7).
static void on_limit(int number) {
    const char *line = number == SIGXCPU                         ? at_limit.processor
                       : !CTapedeck_has_address_space(LARGE) ? at_limit.memory
                                                             : NULL;
    if (line == NULL) {
        raise(number);
        return;
    }
    unsigned count = atomic_load(&at_limit.file_count);
    for (unsigned index = 0; index < count; index++) unlink(at_limit.files[index]);
    ssize_t ignored = write(at_limit.descriptor, line, strlen(line));
    (void)ignored;
    _exit(EXIT_INCOMPLETE);
}

void CTapedeck_at_limit(int descriptor, const char *memory, const char *processor) {
    at_limit.descriptor = descriptor;
    at_limit.memory = strdup(memory);
    at_limit.processor = strdup(processor);
    // Its second signal ends the process.
    struct sigaction action = {.sa_handler = on_limit, .sa_flags = SA_RESETHAND | SA_NODEFER};
    const int signals[] = {SIGXCPU, SIGABRT, SIGTRAP, SIGILL, SIGSEGV, SIGBUS};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) sigaction(signals[index], &action, NULL);
}

bool CTapedeck_remove_at_limit(const char *path) {
    unsigned count = atomic_load(&at_limit.file_count);
    if (count >= MOST_FILES || strlen(path) >= PATH_MAX) return false;
    strcpy(at_limit.files[count], path);
    atomic_store(&at_limit.file_count, count + 1);
    return true;
}
