// SPDX-License-Identifier: Apache-2.0

#include "frame_numbers.h"

// The numbers of one frame.
typedef struct {
    FrameNumbers numbers;
    // It has a temporal layer, and whether that is the lowest.
    bool has_layer;
    bool is_base;
    bool is_keyframe;
} Frame;

static uint8_t byte_at(const uint8_t *payload, size_t size, size_t at) { return at < size ? payload[at] : 0; }

// The frame's number at this place, of 7 or 15 bits; the place behind it.
static size_t read_number(FrameNumbers *numbers, const uint8_t *payload, size_t size, size_t at) {
    uint8_t first = byte_at(payload, size, at);
    numbers->is_known = true;
    numbers->is_long = (first & 0x80) != 0;
    numbers->number = numbers->is_long ? (uint16_t)((first & 0x7F) << 8 | byte_at(payload, size, at + 1)) : first;
    return at + (numbers->is_long ? 2 : 1);
}

// How far a number is ahead of another; 0 for one that is behind.
static uint32_t distance(uint32_t from, uint32_t to, uint32_t count) {
    uint32_t ahead = (to - from) & (count - 1);
    return ahead < count / 2 ? ahead : 0;
}

static uint32_t missing(const FrameNumbers *before, const Frame *frame) {
    const FrameNumbers *now = &frame->numbers;
    if (!before->is_known || !now->is_known || frame->is_keyframe || before->is_long != now->is_long) return 0;
    uint32_t step = distance(before->number, now->number, now->is_long ? 1 << 15 : 1 << 7);
    if (step < 2) return 0;
    if (!frame->has_layer) return step - 1;
    // Each frame of the lowest layer has a separate number, which those above it repeat.
    if (!before->has_base || !now->has_base) return 0;
    uint32_t base = distance(before->base, now->base, 1 << 8);
    uint32_t own = frame->is_base ? 1 : 0;
    return base > own ? base - own : 0;
}

static uint32_t take(FrameNumbers *numbers, const Frame *frame) {
    uint32_t result = missing(numbers, frame);
    *numbers = frame->numbers;
    return result;
}

uint32_t frame_numbers_take_vp8(FrameNumbers *numbers, const uint8_t *payload, size_t size, bool is_after_gap) {
    if (is_after_gap) *numbers = (FrameNumbers){0};
    // The beginning of partition 0.
    if (size < 2 || (payload[0] & 0x17) != 0x10) return 0;
    Frame frame = {0};
    size_t at = 1;
    if ((payload[0] & 0x80) != 0) {
        uint8_t extension = payload[at++];
        if ((extension & 0x80) != 0) at = read_number(&frame.numbers, payload, size, at);
        if ((extension & 0x40) != 0) {
            frame.numbers.has_base = true;
            frame.numbers.base = byte_at(payload, size, at++);
        }
        if ((extension & 0x30) != 0) {
            frame.has_layer = (extension & 0x20) != 0;
            frame.is_base = byte_at(payload, size, at++) >> 6 == 0;
        }
    }
    frame.is_keyframe = (byte_at(payload, size, at) & 1) == 0;
    return take(numbers, &frame);
}

uint32_t frame_numbers_take_vp9(FrameNumbers *numbers, const uint8_t *payload, size_t size, bool is_after_gap) {
    if (is_after_gap) *numbers = (FrameNumbers){0};
    // The beginning of a frame, and no reference to frames by the distance of their numbers: those say more.
    if (size < 2 || (payload[0] & 0x18) != 0x08) return 0;
    Frame frame = {.is_keyframe = (payload[0] & 0x40) == 0};
    size_t at = 1;
    if ((payload[0] & 0x80) != 0) at = read_number(&frame.numbers, payload, size, at);
    if ((payload[0] & 0x20) != 0) {
        uint8_t layers = byte_at(payload, size, at++);
        // Frames of upper spatial layers have the number of the lowest one.
        if ((layers & 0x0E) != 0) return 0;
        frame.has_layer = true;
        frame.is_base = layers >> 5 == 0;
        frame.numbers.has_base = true;
        frame.numbers.base = byte_at(payload, size, at);
    }
    return take(numbers, &frame);
}
