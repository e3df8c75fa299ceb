// SPDX-License-Identifier: Apache-2.0

#ifndef CTAPEDECK_RTP_HEADER_H
#define CTAPEDECK_RTP_HEADER_H

#include <stddef.h>
#include <stdint.h>

enum { RTP_FIXED_HEADER_SIZE = 12 };

/// The size of the header with contributing sources and extension (RFC 3550 section 5.1); 0 if this is no RTP packet, or it
/// ends before its header does.
static inline size_t rtp_header_size(const uint8_t *packet, size_t size) {
    if (size < RTP_FIXED_HEADER_SIZE || packet[0] >> 6 != 2) return 0;
    size_t header = RTP_FIXED_HEADER_SIZE + 4 * (size_t)(packet[0] & 0x0F);
    if ((packet[0] & 0x10) != 0) {
        if (header + 4 > size) return 0;
        header += 4 + 4 * ((size_t)packet[header + 2] << 8 | packet[header + 3]);
    }
    return header <= size ? header : 0;
}

#endif
