// SPDX-License-Identifier: Apache-2.0

#include "depayloader.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 4096,
    // A picture of VP8 has a header of three bytes, a keyframe one of ten (RFC 6386 section 9.1); what is shorter is none.
    SHORTEST_VP8 = 10,
};

void depayloader_clear(Depayloader *depayloader) {
    g_clear_pointer(&depayloader->bytes, g_free);
    depayloader->size = 0;
    depayloader->capacity = 0;
}

static void append(Depayloader *depayloader, const uint8_t *bytes, size_t size) {
    size_t needed = depayloader->size + size;
    if (depayloader->bytes == NULL || needed > depayloader->capacity) {
        depayloader->capacity = MAX(MAX(needed, depayloader->capacity * 2), FIRST_CAPACITY);
        depayloader->bytes = g_realloc(depayloader->bytes, depayloader->capacity);
    }
    memcpy(depayloader->bytes + depayloader->size, bytes, size);
    depayloader->size = needed;
}

// The unit that has begun is whole.
static GstBuffer *finish(Depayloader *depayloader) {
    // It may wait in a queue that counts bytes.
    uint8_t *bytes = g_realloc(depayloader->bytes, depayloader->size);
    GstBuffer *unit = gst_buffer_new_wrapped(bytes, depayloader->size);
    depayloader->bytes = NULL;
    depayloader_clear(depayloader);
    return unit;
}

// The size of a payload descriptor (RFC 7741 section 4.2); as large as the payload or larger if there is nothing behind it.
static size_t descriptor_size(const uint8_t *payload, size_t size) {
    if ((payload[0] & 0x80) == 0 || size < 2) return 1;
    uint8_t extension = payload[1];
    size_t result = 2;
    if ((extension & 0x80) != 0) {
        bool is_long = size > 2 && (payload[2] & 0x80) != 0;
        result += is_long ? 2 : 1;
    }
    if ((extension & 0x40) != 0) result += 1;
    if ((extension & 0x30) != 0) result += 1;
    return result;
}

static Depayloaded take_vp8(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                            bool is_after_gap) {
    Depayloaded result = {0};
    size_t header = size > 0 ? descriptor_size(payload, size) : 0;
    // The beginning of partition 0.
    bool begins = size > header && (payload[0] & 0x17) == 0x10;
    bool goes_on = depayloader->bytes != NULL && !begins && !is_after_gap && size > header &&
                   depayloader->size + size <= DEPAYLOADER_MAXIMUM_UNIT;
    if (depayloader->bytes != NULL && !goes_on) {
        result.is_broken = true;
        depayloader_clear(depayloader);
    }
    if (!begins && !goes_on) return result;
    result.has_begun = begins;
    append(depayloader, payload + header, size - header);
    if (!marker) return result;
    if (depayloader->size >= SHORTEST_VP8) {
        result.unit = finish(depayloader);
    } else {
        depayloader_clear(depayloader);
    }
    return result;
}

Depayloaded depayloader_take(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                             bool is_after_gap) {
    if (depayloader->kind == CTAPEDECK_DEPAYLOAD_VP8) {
        return take_vp8(depayloader, payload, size, marker, is_after_gap);
    }
    if (size == 0) return (Depayloaded){0};
    append(depayloader, payload, size);
    return (Depayloaded){.unit = finish(depayloader), .has_begun = true};
}
