// SPDX-License-Identifier: Apache-2.0

#include "rtcp_filter.h"

#include <gst/rtp/rtp.h>
#include <string.h>

// The size of a chunk of SDES with what fills its last word; 0 if it does not end (RFC 3550 section 6.5).
static size_t chunk_size(const uint8_t *chunk, size_t size) {
    size_t end = 4;
    while (end < size && chunk[end] != 0) {
        if (size - end < 2) return 0;
        end += 2u + chunk[end + 1];
    }
    // At least one zero, and as many as the word has room for.
    end = (end / 4 + 1) * 4;
    return end <= size ? end : 0;
}

// Whether a whole chunk has a PRIV item (RFC 3550 section 6.5.8): rtpsession makes a GQuark of its name, which is never freed.
static bool has_private_item(const uint8_t *chunk, size_t size) {
    for (size_t at = 4; at + 1 < size && chunk[at] != 0; at += 2u + chunk[at + 1]) {
        if (chunk[at] == GST_RTCP_SDES_PRIV) return true;
    }
    return false;
}

// Removes unknown sources, sources with private items, and padding from an SDES packet; returns its new size, 0 if no
// source is left.
static size_t keep_known_chunks(const RTCPFilter *filter, uint8_t *packet, size_t size) {
    unsigned left = packet[0] & 0x1F;
    unsigned kept = 0;
    size_t written = 4;
    for (size_t read = 4; left > 0 && size - read >= 8; left -= 1) {
        size_t chunk = chunk_size(packet + read, size - read);
        if (chunk == 0) break;
        if (filter->is_known(filter->user, GST_READ_UINT32_BE(packet + read)) && !has_private_item(packet + read, chunk)) {
            memmove(packet + written, packet + read, chunk);
            written += chunk;
            kept += 1;
        }
        read += chunk;
    }
    if (kept == 0) return 0;
    packet[0] = (uint8_t)(0x80 | kept);
    GST_WRITE_UINT16_BE(packet + 2, (uint16_t)(written / 4 - 1));
    return written;
}

static bool may_pass(const RTCPFilter *filter, const uint8_t *packet, size_t size) {
    switch (packet[1]) {
        case GST_RTCP_TYPE_SR:
        case GST_RTCP_TYPE_RR:
            return size >= 8 && filter->may_report(filter->user, GST_READ_UINT32_BE(packet + 4));
        default:
            // Among the sources that these name, rtpsession only looks up those that it has.
            return true;
    }
}

size_t rtcp_filter_keep(const RTCPFilter *filter, uint8_t *bytes, size_t size) {
    size_t written = 0;
    for (size_t read = 0; size - read >= 4;) {
        uint8_t *packet = bytes + read;
        size_t length = (GST_READ_UINT16_BE(packet + 2) + 1u) * 4;
        if (length > size - read) return 0;
        if (!may_pass(filter, packet, length)) return 0;
        read += length;
        if (packet[1] == GST_RTCP_TYPE_SDES) length = keep_known_chunks(filter, packet, length);
        memmove(bytes + written, packet, length);
        written += length;
    }
    return written;
}
