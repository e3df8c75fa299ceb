// SPDX-License-Identifier: Apache-2.0

#include "depayloader.h"

#include <stdatomic.h>
#include <string.h>

enum {
    FIRST_CAPACITY = 4096,
    // Size of a VP8 frame's header before its first partition (RFC 6386 section 9.1): a shorter payload is no frame.
    KEYFRAME_HEADER = 10,
    INTER_FRAME_HEADER = 3,
};

struct Gathered {
    gatomicrefcount references;
    atomic_size_t bytes;
};

// Sum over all connections of the process.
static atomic_size_t together;

Gathered *gathered_new(void) {
    Gathered *gathered = g_new0(Gathered, 1);
    g_atomic_ref_count_init(&gathered->references);
    return gathered;
}

Gathered *gathered_ref(Gathered *gathered) {
    g_atomic_ref_count_inc(&gathered->references);
    return gathered;
}

void gathered_unref(Gathered *gathered) {
    if (g_atomic_ref_count_dec(&gathered->references)) g_free(gathered);
}

bool gathered_add(Gathered *gathered, size_t own, size_t size) {
    size_t of_connection = atomic_load_explicit(&gathered->bytes, memory_order_relaxed);
    size_t of_all = atomic_load_explicit(&together, memory_order_relaxed);
    bool fits = own + size <= GATHERED_MAXIMUM && of_connection + size <= GATHERED_MAXIMUM &&
                (own + size <= GATHERED_MODEST || of_all + size <= GATHERED_MAXIMUM_TOGETHER);
    if (!fits) return false;
    atomic_fetch_add_explicit(&gathered->bytes, size, memory_order_relaxed);
    atomic_fetch_add_explicit(&together, size, memory_order_relaxed);
    return true;
}

void gathered_remove(Gathered *gathered, size_t size) {
    atomic_fetch_sub_explicit(&gathered->bytes, size, memory_order_relaxed);
    atomic_fetch_sub_explicit(&together, size, memory_order_relaxed);
}

void depayloader_clear(Depayloader *depayloader) {
    g_clear_pointer(&depayloader->bytes, g_free);
    if (depayloader->size > 0) gathered_remove(depayloader->gathered, depayloader->size);
    depayloader->size = 0;
    depayloader->capacity = 0;
    depayloader->packets = 0;
}

// They have been counted.
static void append(Depayloader *depayloader, const uint8_t *bytes, size_t size) {
    size_t needed = depayloader->size + size;
    if (depayloader->bytes == NULL || needed > depayloader->capacity) {
        depayloader->capacity = MAX(MAX(needed, depayloader->capacity * 2), FIRST_CAPACITY);
        depayloader->bytes = g_realloc(depayloader->bytes, depayloader->capacity);
    }
    memcpy(depayloader->bytes + depayloader->size, bytes, size);
    depayloader->size = needed;
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

// The fate of a whole frame of this many packets. Before the first keyframe no decoder can decode one.
static Depayloaded judged(Depayloader *depayloader, GstBuffer *picture, uint32_t packets, Depayloaded result) {
    uint8_t first = 1;
    gst_buffer_extract(picture, 0, &first, 1);
    bool is_keyframe = (first & 1) == 0;
    result.is_broken |= gst_buffer_get_size(picture) < (is_keyframe ? KEYFRAME_HEADER : INTER_FRAME_HEADER);
    if (!result.is_broken && is_keyframe) depayloader->has_keyframe = true;
    if (!result.is_broken && depayloader->has_keyframe) {
        result.unit = picture;
        result.packets = packets;
    } else {
        packet_fates_add(depayloader->fates, result.is_broken ? FATE_UNDECODABLE : FATE_BEFORE_KEYFRAME, packets);
        gst_buffer_unref(picture);
    }
    return result;
}

// The fate of packets of a frame that will never be whole.
static PacketFate fate_of_part(const Depayloader *depayloader) {
    if (depayloader->is_overfull) return FATE_QUEUE_FULL;
    return depayloader->has_keyframe ? FATE_INCOMPLETE : FATE_BEFORE_KEYFRAME;
}

static Depayloaded take_vp8(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                            bool is_after_gap) {
    Depayloaded result = {0};
    size_t header = size > 0 ? descriptor_size(payload, size) : 0;
    // The beginning of partition 0.
    bool begins = size > header && (payload[0] & 0x17) == 0x10;
    bool has_begun = depayloader->bytes != NULL;
    bool may_go_on = has_begun && !begins && !is_after_gap && size > header;
    bool goes_on = may_go_on && gathered_add(depayloader->gathered, depayloader->size, size - header);
    if (begins || is_after_gap) depayloader->is_overfull = false;
    if (may_go_on && !goes_on) depayloader->is_overfull = true;
    if (has_begun && !goes_on) {
        result.is_torn = true;
        packet_fates_add(depayloader->fates, fate_of_part(depayloader), depayloader->packets);
        depayloader_clear(depayloader);
    }
    if (!begins && !goes_on) {
        packet_fates_add(depayloader->fates, size > header ? fate_of_part(depayloader) : FATE_EMPTY, 1);
        return result;
    }
    if (begins && !marker && !gathered_add(depayloader->gathered, 0, size - header)) {
        result.is_torn = true;
        depayloader->is_overfull = true;
        packet_fates_add(depayloader->fates, FATE_QUEUE_FULL, 1);
        return result;
    }
    result.has_begun = begins;
    if (marker) {
        uint32_t packets = depayloader->packets + 1;
        return judged(depayloader, finish(depayloader, payload + header, size - header), packets, result);
    }
    append(depayloader, payload + header, size - header);
    depayloader->packets += 1;
    return result;
}

Depayloaded depayloader_take(Depayloader *depayloader, const uint8_t *payload, size_t size, bool marker,
                             bool is_after_gap) {
    if (depayloader->kind == CTAPEDECK_DEPAYLOAD_VP8) {
        return take_vp8(depayloader, payload, size, marker, is_after_gap);
    }
    if (size == 0) {
        packet_fates_add(depayloader->fates, FATE_EMPTY, 1);
        return (Depayloaded){0};
    }
    return (Depayloaded){.unit = finish(depayloader, payload, size), .packets = 1, .has_begun = true};
}
