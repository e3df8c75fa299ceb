// SPDX-License-Identifier: Apache-2.0

#include "depayloader.h"

#include <stdatomic.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 4096,
    // What a picture of VP8 has before its first partition (RFC 6386 section 9.1): what is shorter is none.
    KEYFRAME_HEADER = 10,
    INTER_FRAME_HEADER = 3,
};

// Bytes of all units of the process that have begun.
static atomic_size_t gathered;

void depayloader_clear(Depayloader *depayloader) {
    g_clear_pointer(&depayloader->bytes, g_free);
    atomic_fetch_sub_explicit(&gathered, depayloader->size, memory_order_relaxed);
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
    atomic_fetch_add_explicit(&gathered, size, memory_order_relaxed);
}

// The unit that has begun, which ends with these bytes.
static GstBuffer *finish(Depayloader *depayloader, const uint8_t *bytes, size_t size) {
    if (depayloader->bytes == NULL) return gst_buffer_new_memdup(bytes, size);
    append(depayloader, bytes, size);
    // It may wait in a queue that counts bytes.
    uint8_t *whole = g_realloc(depayloader->bytes, depayloader->size);
    GstBuffer *unit = gst_buffer_new_wrapped(whole, depayloader->size);
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

// What becomes of a whole picture. Before the first keyframe nobody can decode one.
static Depayloaded judged(Depayloader *depayloader, GstBuffer *picture, Depayloaded result) {
    uint8_t first = 1;
    gst_buffer_extract(picture, 0, &first, 1);
    bool is_keyframe = (first & 1) == 0;
    result.is_broken |= gst_buffer_get_size(picture) < (is_keyframe ? KEYFRAME_HEADER : INTER_FRAME_HEADER);
    if (!result.is_broken && is_keyframe) depayloader->has_keyframe = true;
    if (!result.is_broken && depayloader->has_keyframe) {
        result.unit = picture;
    } else {
        gst_buffer_unref(picture);
    }
    return result;
}

static Depayloaded take_vp8(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                            bool is_after_gap) {
    Depayloaded result = {0};
    size_t header = size > 0 ? descriptor_size(payload, size) : 0;
    // The beginning of partition 0.
    bool begins = size > header && (payload[0] & 0x17) == 0x10;
    bool has_begun = depayloader->bytes != NULL;
    bool goes_on = has_begun && !begins && !is_after_gap && size > header &&
                   depayloader->size + size <= DEPAYLOADER_MAXIMUM_UNIT &&
                   atomic_load_explicit(&gathered, memory_order_relaxed) + size <= DEPAYLOADER_MAXIMUM_TOGETHER;
    if (has_begun && !goes_on) {
        result.is_torn = true;
        depayloader_clear(depayloader);
    }
    if (!begins && !goes_on) return result;
    result.has_begun = begins;
    if (marker) return judged(depayloader, finish(depayloader, payload + header, size - header), result);
    append(depayloader, payload + header, size - header);
    return result;
}

Depayloaded depayloader_take(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                             bool is_after_gap) {
    if (depayloader->kind == CTAPEDECK_DEPAYLOAD_VP8) {
        return take_vp8(depayloader, payload, size, marker, is_after_gap);
    }
    if (size == 0) return (Depayloaded){0};
    return (Depayloaded){.unit = finish(depayloader, payload, size), .has_begun = true};
}
