// SPDX-License-Identifier: Apache-2.0

#include "rtcp.h"

#include <gst/gst.h>
#include <string.h>

enum {
    SENDER_REPORT = 200,
    RECEIVER_REPORT = 201,
    SOURCE_DESCRIPTION = 202,
    GOODBYE = 203,
    PAYLOAD_FEEDBACK = 206,
    PICTURE_LOSS = 1,
    FULL_INTRA_REQUEST = 4,
};

uint64_t rtcp_ntp_after(uint64_t ntp_time, int32_t ticks, uint32_t clock_rate) {
    if (clock_rate == 0) return ntp_time;
    int64_t rate = clock_rate;
    // Multiplied and not shifted: the number may be below zero.
    int64_t part = ticks % rate * ((int64_t)1 << 32) / rate;
    return ntp_time + (uint64_t)(ticks / rate * ((int64_t)1 << 32)) + (uint64_t)part;
}

static size_t write_head(uint8_t *packet, uint8_t count, uint8_t type, size_t size, uint32_t ssrc) {
    packet[0] = (uint8_t)(0x80 | count);
    packet[1] = type;
    GST_WRITE_UINT16_BE(packet + 2, size / 4 - 1);
    GST_WRITE_UINT32_BE(packet + 4, ssrc);
    return size;
}

size_t rtcp_write_sender_report(uint8_t *packet, uint32_t ssrc, const RTCPSenderInfo *info) {
    GST_WRITE_UINT64_BE(packet + 8, info->ntp_time);
    GST_WRITE_UINT32_BE(packet + 16, info->rtp_time);
    GST_WRITE_UINT32_BE(packet + 20, info->packets);
    GST_WRITE_UINT32_BE(packet + 24, info->bytes);
    return write_head(packet, 0, SENDER_REPORT, 28, ssrc);
}

size_t rtcp_write_empty_report(uint8_t *packet, uint32_t ssrc) {
    return write_head(packet, 0, RECEIVER_REPORT, 8, ssrc);
}

size_t rtcp_write_name(uint8_t *packet, uint32_t ssrc, const char *cname) {
    size_t length = MIN(strlen(cname), 63);
    // One item and at least one zero, up to a multiple of four.
    size_t size = 8 + (2 + length) / 4 * 4 + 4;
    memset(packet, 0, size);
    packet[8] = 1;
    packet[9] = (uint8_t)length;
    memcpy(packet + 10, cname, length);
    return write_head(packet, 1, SOURCE_DESCRIPTION, size, ssrc);
}

size_t rtcp_write_goodbye(uint8_t *packet, uint32_t ssrc) { return write_head(packet, 1, GOODBYE, 8, ssrc); }

static bool asks_for_intra(const uint8_t *packet, size_t length, uint32_t ssrc) {
    for (size_t offset = 12; offset + 8 <= length; offset += 8) {
        if (GST_READ_UINT32_BE(packet + offset) == ssrc) return true;
    }
    return false;
}

bool rtcp_read(RTCPReader *reader, uint32_t ssrc, RTCPNews *news) {
    *news = (RTCPNews){false};
    if (reader->size - reader->offset < 8) return false;
    const uint8_t *packet = reader->data + reader->offset;
    size_t length = 4 * ((size_t)GST_READ_UINT16_BE(packet + 2) + 1);
    if (packet[0] >> 6 != 2 || length < 8 || length > reader->size - reader->offset) return false;
    reader->offset += length;
    news->receiver = GST_READ_UINT32_BE(packet + 4);
    switch (packet[1]) {
    case SENDER_REPORT:
    case RECEIVER_REPORT:
        news->has_receiver = true;
        break;
    case GOODBYE:
        news->has_receiver = news->has_left = (packet[0] & 0x1F) > 0;
        break;
    case PAYLOAD_FEEDBACK:
        if ((packet[0] & 0x1F) == PICTURE_LOSS && length >= 12) {
            news->wants_keyframe = GST_READ_UINT32_BE(packet + 8) == ssrc;
        } else if ((packet[0] & 0x1F) == FULL_INTRA_REQUEST) {
            news->wants_keyframe = asks_for_intra(packet, length, ssrc);
        }
        break;
    default:
        break;
    }
    return true;
}
