// SPDX-License-Identifier: Apache-2.0
//
// Limits that a process sets for itself, and what it still says when it reaches one: in a signal handler, which Swift cannot
// be.

#ifndef CTAPEDECK_LIMITS_H
#define CTAPEDECK_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The kernel ends this process before any other of this user when the host is short of memory (oom_score_adj 900).
bool CTapedeck_be_ended_first(void);
/// The address space of this process, threads' stacks and mapped files included, is at most `bytes` from now on (RLIMIT_AS).
/// malloc has two heaps, each of which reserves some of it. False if the kernel did not take it.
bool CTapedeck_limit_memory(uint64_t bytes);
/// This process may use `seconds` more of processor time (RLIMIT_CPU); after 10 s beyond that the kernel ends it. False if the
/// kernel did not take it.
bool CTapedeck_limit_processor_time(uint64_t seconds);
/// Whether `bytes` of address space are left.
bool CTapedeck_has_address_space(size_t bytes);

/// When the processor time is used up, or this process traps because there is no memory, removes the files that were
/// named and writes `processor` or `memory` to the descriptor, which is all that happens then: exit code 5. Traps with
/// another cause end the process as before. Once, before any thread needs it.
void CTapedeck_at_limit(int descriptor, const char *memory, const char *processor);
/// Names a file to remove at a limit: false for the ninth, and for one whose name is too long.
bool CTapedeck_remove_at_limit(const char *path);

#endif
