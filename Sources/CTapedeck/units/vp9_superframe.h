// SPDX-License-Identifier: Apache-2.0
//
// VP9 in spatial layers (RFC 9628 section 3): the frames of all layers come one behind the other. A decoder finds them by an index
// behind them, which makes one superframe of them (VP9 bitstream specification, annex B) and which is not sent.

#ifndef CTAPEDECK_VP9_SUPERFRAME_H
#define CTAPEDECK_VP9_SUPERFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VP9_MAXIMUM_FRAMES = 8,
    VP9_MAXIMUM_INDEX = 2 + 4 * VP9_MAXIMUM_FRAMES,
};

/// All zero at first. One thread at a time.
typedef struct {
    // The frames that have begun.
    uint32_t sizes[VP9_MAXIMUM_FRAMES];
    uint32_t count;
    // Something of it is missing, or it has too many frames.
    bool is_broken;
} VP9Superframe;

/// Takes the payload of the next packet, without header and padding; `is_after_gap`: packets before it are missing. Gives how many
/// bytes of index follow it, and writes these; 0 if more frames come, or if there is but one, or an index, or something is missing.
size_t vp9_superframe_take(VP9Superframe *superframe, const uint8_t *payload, size_t size, bool marker, bool is_after_gap,
                           uint8_t index[VP9_MAXIMUM_INDEX]);

#endif
