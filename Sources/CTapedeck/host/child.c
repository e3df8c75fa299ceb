// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckHost.h"
#include "lower_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// Between fork and execve there is nothing but system calls: other threads may hold any lock of the C library.
pid_t CTapedeck_start_child(const char *path, char *const arguments[], char *const environment[], int standard_error,
                            uint64_t memory) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before that call.
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    CTapedeck_lower_limit(RLIMIT_CORE, 0, 0);
    if (memory > 0) CTapedeck_lower_limit(RLIMIT_AS, memory, memory);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(standard_error, 2) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) _exit(127);
    if (null > 2) close(null);
    execve(path, arguments, environment);
    _exit(127);
}
