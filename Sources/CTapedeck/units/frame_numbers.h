// SPDX-License-Identifier: Apache-2.0
//
// Frames that the numbers of VP8 and VP9 show to be missing though no packet is: a server lost them before it numbered what it
// sends (RFC 7741 section 4.2, RFC 9628 section 4.2).

#ifndef CTAPEDECK_FRAME_NUMBERS_H
#define CTAPEDECK_FRAME_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The numbers of the newest frame; all zero at first.
typedef struct {
    bool is_known;
    bool is_long;
    bool has_base;
    uint16_t number;
    uint8_t base;
} FrameNumbers;

/// Each takes every payload of a stream in order, and returns how many frames are missing before the one that begins with it.
/// Frames of upper temporal layers may be: a server leaves them out where the network is narrow. Before a keyframe none is.
uint32_t frame_numbers_take_vp8(FrameNumbers *numbers, const uint8_t *payload, size_t size, bool is_after_gap);
uint32_t frame_numbers_take_vp9(FrameNumbers *numbers, const uint8_t *payload, size_t size, bool is_after_gap);

#endif
