// SPDX-License-Identifier: Apache-2.0
//
// One buffer through a short-lived pipeline: a still of a keyframe. appsrc and appsink are macros and casts.

#ifndef CTAPEDECK_STILL_H
#define CTAPEDECK_STILL_H

#include <stddef.h>
#include <stdint.h>

/// Parses `launch`, which has an appsrc named `in` and an appsink named `out`, pushes one buffer and the end of the
/// stream, and returns the first buffer that comes out within `timeout_nanoseconds`: `size` bytes, free with g_free.
/// NULL if none came. Blocks; the pipeline is gone when it returns.
uint8_t *CTapedeck_convert_one(const char *launch, const uint8_t *data, size_t data_size, uint64_t timeout_nanoseconds,
                               size_t *size);

#endif
