// SPDX-License-Identifier: Apache-2.0

#include "vp9_superframe.h"

#include <glib.h>

// The payload descriptor (RFC 9628 section 4.2).
enum {
    HAS_PICTURE_ID = 0x80,
    IS_INTER_PREDICTED = 0x40,
    HAS_LAYERS = 0x20,
    IS_FLEXIBLE = 0x10,
    BEGINS_FRAME = 0x08,
    HAS_STRUCTURE = 0x02,
    MAXIMUM_REFERENCES = 3,
};

// The byte that ends a superframe and its index: 110, then two bits for the width of sizes and three for the number of
// frames.
enum { SUPERFRAME = 0xC0, SUPERFRAME_MASK = 0xE0 };

// A byte of the payload; 0 behind its end.
static uint8_t byte_at(const uint8_t *payload, size_t size, size_t at) { return at < size ? payload[at] : 0; }

// The size of the scalability structure that begins there.
static size_t structure_size(const uint8_t *payload, size_t size, size_t start) {
    uint8_t head = byte_at(payload, size, start);
    size_t at = start + 1;
    if ((head & 0x10) != 0) at += 4 * ((size_t)(head >> 5) + 1);
    if ((head & 0x08) == 0) return at - start;
    uint8_t pictures = byte_at(payload, size, at++);
    for (uint8_t picture = 0; picture < pictures && at < size; picture++) at += 1 + (payload[at] >> 2 & 3);
    return at - start;
}

// The size of the payload descriptor, and whether the packet's frame depends on that of the layer below.
static size_t descriptor_size(const uint8_t *payload, size_t size, bool *is_dependent) {
    uint8_t head = byte_at(payload, size, 0);
    size_t at = 1;
    *is_dependent = false;
    if ((head & HAS_PICTURE_ID) != 0) at += (byte_at(payload, size, at) & 0x80) != 0 ? 2 : 1;
    if ((head & HAS_LAYERS) != 0) {
        *is_dependent = (byte_at(payload, size, at) & 1) != 0;
        at += (head & IS_FLEXIBLE) != 0 ? 1 : 2;
    }
    if ((head & IS_INTER_PREDICTED) != 0 && (head & IS_FLEXIBLE) != 0) {
        for (int reference = 0; reference < MAXIMUM_REFERENCES; reference++) {
            if ((byte_at(payload, size, at++) & 1) == 0) break;
        }
    }
    if ((head & HAS_STRUCTURE) != 0) at += structure_size(payload, size, at);
    return MIN(at, size);
}

static size_t write_index(const VP9Superframe *superframe, uint8_t *index) {
    uint32_t largest = 0;
    for (uint32_t frame = 0; frame < superframe->count; frame++) largest = MAX(largest, superframe->sizes[frame]);
    uint32_t width = 1;
    while (width < 4 && largest >> (8 * width) != 0) width += 1;
    uint8_t marker = (uint8_t)(SUPERFRAME | (width - 1) << 3 | (superframe->count - 1));
    size_t at = 0;
    index[at++] = marker;
    for (uint32_t frame = 0; frame < superframe->count; frame++) {
        for (uint32_t byte = 0; byte < width; byte++) index[at++] = (uint8_t)(superframe->sizes[frame] >> (8 * byte));
    }
    index[at++] = marker;
    return at;
}

size_t vp9_superframe_take(VP9Superframe *superframe, const uint8_t *payload, size_t size, bool marker, bool is_after_gap,
                           uint8_t index[VP9_MAXIMUM_INDEX]) {
    if (size == 0) return 0;
    bool is_dependent = false;
    size_t header = descriptor_size(payload, size, &is_dependent);
    bool begins_frame = (payload[0] & BEGINS_FRAME) != 0;
    if (is_after_gap) superframe->is_broken = true;
    // rtpvp9depay starts again with it, and leaves out smaller frames, on which it does not depend.
    if (begins_frame && !is_dependent) *superframe = (VP9Superframe){0};
    if (begins_frame && superframe->count < VP9_MAXIMUM_FRAMES) {
        superframe->sizes[superframe->count++] = 0;
    } else if (begins_frame || superframe->count == 0) {
        superframe->is_broken = true;
    }
    if (superframe->count > 0) superframe->sizes[superframe->count - 1] += (uint32_t)MIN(size - header, UINT16_MAX);
    if (!marker) return 0;
    bool has_index = (payload[size - 1] & SUPERFRAME_MASK) == SUPERFRAME;
    bool is_whole = !superframe->is_broken && superframe->count > 1 && !has_index;
    for (uint32_t frame = 0; frame < superframe->count; frame++) is_whole = is_whole && superframe->sizes[frame] > 0;
    size_t result = is_whole ? write_index(superframe, index) : 0;
    *superframe = (VP9Superframe){0};
    return result;
}
