// SPDX-License-Identifier: Apache-2.0

#ifndef CTAPEDECK_LOWER_LIMIT_H
#define CTAPEDECK_LOWER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/// Lowers a limit of this process (setrlimit(2)), where it is not as low yet. False if the kernel did not take it.
///
/// System calls only: also between fork and execve.
bool CTapedeck_lower_limit(int resource, uint64_t soft, uint64_t hard);

#endif
