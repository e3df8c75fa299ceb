// SPDX-License-Identifier: Apache-2.0

// clock_shift SECONDS PROGRAM [ARGUMENT]...: runs a program whose wall clock shows so many seconds more than the host's, also one
// that LD_PRELOAD does not reach, as those in Go. The program does not get the kernel's vDSO, and its system calls for the
// time are answered from here.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1 << 22 };
// Where each thread, by its number, wants the time.
static uint64_t *wanted;

static uint64_t peek(pid_t pid, uint64_t address) {
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, address, 0);
}

// Behind the arguments and the environment on a new program's stack are pairs of which one is the vDSO's address.
static void hide_vdso(pid_t pid) {
    enum { AT_IGNORE_ = 1, AT_SYSINFO_EHDR_ = 33, START_OF_STACK = 28 };
    char path[64], *word;
    static char text[4096];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = 0;
    word = text;
    for (int number = 1; number < START_OF_STACK && word; number++) word = __builtin_strchr(word + 1, ' ');
    uint64_t address = word ? strtoull(word, NULL, 10) : 0;
    if (!address) exit(111);
    address += 8 * (peek(pid, address) + 2);
    while (peek(pid, address)) address += 8;
    for (address += 8; peek(pid, address); address += 16)
        if (peek(pid, address) == AT_SYSINFO_EHDR_) ptrace(PTRACE_POKEDATA, pid, address, AT_IGNORE_);
}

static void run(char **command) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    execvp(command[0], command);
    _exit(127);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    long shift = atol(arguments[1]);
    wanted = calloc(MOST_THREADS, sizeof *wanted);
    pid_t child = fork(), pid;
    if (!child) run(arguments + 2);
    int status;
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
           | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD);
    ptrace(PTRACE_CONT, child, 0, 0);
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid == child && WIFEXITED(status)) return WEXITSTATUS(status);
        if (pid == child && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
        if (pid <= 0 || !WIFSTOPPED(status)) continue;
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) {
            struct __ptrace_syscall_info call;
            ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof call, &call);
            int is_wall = call.seccomp.args[0] == CLOCK_REALTIME || call.seccomp.args[0] == CLOCK_REALTIME_COARSE;
            wanted[pid] = is_wall ? call.seccomp.args[1] : 0;
            ptrace(is_wall ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, 0);
        } else if (signal == (SIGTRAP | 0x80)) {
            if (wanted[pid]) ptrace(PTRACE_POKEDATA, pid, wanted[pid], peek(pid, wanted[pid]) + (uint64_t)shift);
            wanted[pid] = 0;
            ptrace(PTRACE_CONT, pid, 0, 0);
        } else {
            if (event == PTRACE_EVENT_EXEC) hide_vdso(pid);
            // The first stop of a new thread is no signal of its own.
            int passes = event || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
            ptrace(PTRACE_CONT, pid, 0, passes);
        }
    }
    return 1;
}
