// SPDX-License-Identifier: Apache-2.0
//
// What rtph264depay can be given. Before 1.25.1 it reads 4 GB behind a fragment of one byte, and up to 1.28 what is on its
// stack where an empty packet comes between fragments; NAL units of packetization mode 2 it makes an error of, which ends the call.

#ifndef CTAPEDECK_H264_PASSAGE_H
#define CTAPEDECK_H264_PASSAGE_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// All zero at first. One thread at a time.
typedef struct {
    // The last packet is a fragment whose NAL unit goes on.
    bool is_within;
} H264Passage;

/// Whether the payload of the next packet of a stream may pass: a NAL unit, a STAP-A or an FU-A with something in it (RFC 6184
/// section 5.4, packetization modes 0 and 1), or nothing at all, as of padding, but not within a NAL unit. A packet that may not
/// has to be missing to the element, which begins anew behind a gap.
bool h264_passage_takes(H264Passage *passage, const uint8_t *payload, size_t size);

/// Whether a payload that may pass goes on with the NAL unit of the one before: a fragment that is not the first.
bool h264_goes_on(const uint8_t *payload, size_t size);

/// What to give rtph264depay in the place of a packet so that it keeps nothing: it throws away a fragment only behind a gap, and
/// gives out whole NAL units only with a marker or another picture. The caller's; NULL if the packet is none.
GstBuffer *h264_ending_packet(GstBuffer *packet);

#endif
