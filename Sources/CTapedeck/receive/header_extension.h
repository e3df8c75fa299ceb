// SPDX-License-Identifier: Apache-2.0

#ifndef CTAPEDECK_HEADER_EXTENSION_H
#define CTAPEDECK_HEADER_EXTENSION_H

#include <gst/rtp/rtp.h>
#include <stdbool.h>
#include <stdint.h>

/// The value of a header extension with a header of one byte or of two (RFC 8285), inside the mapped packet, and its size;
/// NULL if the packet has none of that id, or the id is 0.
static inline const uint8_t *header_extension(GstRTPBuffer *rtp, uint8_t id, guint *size) {
    gpointer data = NULL;
    guint8 bits;
    bool is_there = id != 0 && (gst_rtp_buffer_get_extension_onebyte_header(rtp, id, 0, &data, size) ||
                                gst_rtp_buffer_get_extension_twobytes_header(rtp, &bits, id, 0, &data, size));
    return is_there ? data : NULL;
}

#endif
