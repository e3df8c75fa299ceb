// SPDX-License-Identifier: Apache-2.0
//
// Counts live GstObjects and memory in use, for tests and soak runs. GStreamer's own `leaks` tracer would do, but reading
// its list in 1.22 drops references that it does not hold.

#ifndef CTAPEDECK_OBJECT_COUNT_H
#define CTAPEDECK_OBJECT_COUNT_H

#include <stdint.h>

/// Counts from now on. Later calls do nothing. GStreamer must be initialised.
void CTapedeck_start_counting_objects(void);
/// Objects made since counting started, less those destroyed since; any thread.
int64_t CTapedeck_live_object_count(void);
/// Bytes in use of all arenas of malloc, and of blocks with a separate mapping; any thread.
int64_t CTapedeck_allocated_bytes(void);

#endif
