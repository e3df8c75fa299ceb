// SPDX-License-Identifier: Apache-2.0
//
// Packets that are safe for rtph264depay. Before 1.25.1 it reads 4 GB behind a fragment of one byte, and up to 1.28
// arbitrary data on its stack where an empty packet comes between fragments; it reports NAL units of packetization mode
// 2 as an error, which ends the call.

#ifndef CTAPEDECK_H264_PASSAGE_H
#define CTAPEDECK_H264_PASSAGE_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// All zero at first. One thread at a time.
typedef struct {
    // The last packet is a fragment whose NAL unit continues.
    bool is_within;
} H264Passage;

/// Whether the payload of the next packet of a stream may pass: a NAL unit, a STAP-A or an FU-A with something in it
/// (RFC 6184 section 5.4, packetization modes 0 and 1), or nothing at all, as of padding, but not within a NAL unit. A
/// packet that may not pass must be missing to the element, which starts again after a gap.
bool h264_passage_takes(H264Passage *passage, const uint8_t *payload, size_t size);

/// Whether a payload that may pass continues the NAL unit of the one before: a fragment that is not the first.
bool h264_goes_on(const uint8_t *payload, size_t size);

/// Whether the first slice of a buffer of whole NAL units, each behind a start code, is the first one of a frame.
bool h264_begins_picture(GstBuffer *units);

/// A packet for rtph264depay that replaces another one and leaves nothing in the element: it drops a fragment only
/// after a gap, and passes on whole NAL units only with a marker or another frame. The caller's; NULL if the packet is
/// none.
GstBuffer *h264_ending_packet(GstBuffer *packet);

#endif
