// SPDX-License-Identifier: Apache-2.0
//
// Units made of the payloads of one stream, in the order of their sequence numbers: what rtpvp8depay and rtpopusdepay make,
// without an element, a buffer and a segment for each packet. The first unit of VP8 is a keyframe.

#ifndef CTAPEDECK_DEPAYLOADER_H
#define CTAPEDECK_DEPAYLOADER_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "CTapedeckReceive.h"

/// Bytes of a unit; who sends more does not send a picture. And bytes of all units of the process that have begun.
enum { DEPAYLOADER_MAXIMUM_UNIT = 32 << 20, DEPAYLOADER_MAXIMUM_TOGETHER = 96 << 20 };

/// All zero at first but for its kind. One thread at a time.
typedef struct {
    CTapedeckDepayload kind;
    // The unit that has begun; NULL between units.
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    // A picture that can be decoded by itself was given out.
    bool has_keyframe;
} Depayloader;

/// What one packet gave.
typedef struct {
    /// A whole unit, the caller's; NULL if none ends here.
    GstBuffer *unit;
    /// This packet is the first one of a unit.
    bool has_begun;
    /// A unit that had begun before this packet will never be whole, and is thrown away.
    bool is_torn;
    /// What ends here is no unit, and is thrown away.
    bool is_broken;
} Depayloaded;

/// `payload` is without header and padding, and may be NULL with `size` 0. `is_after_gap`: packets before it are missing.
Depayloaded depayloader_take(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                             bool is_after_gap);
void depayloader_clear(Depayloader *depayloader);

#endif
