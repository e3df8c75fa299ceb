// SPDX-License-Identifier: Apache-2.0
//
// Functions with which a fork drives a stream, packet by packet.

#ifndef CTAPEDECK_RTP_STREAM_H
#define CTAPEDECK_RTP_STREAM_H

#include "CTapedeckOutput.h"

/// The source that is sent through a stream from now on.
typedef struct {
    CTapedeckReceiver *receiver;
    uint32_t ssrc;
    uint32_t clock_rate;
    uint8_t payload_type;
} RTPSource;

CTapedeckRTPStream *rtp_stream_ref(CTapedeckRTPStream *stream);

/// Numbers and times continue from those of the source before. The source's receiver must live until the next call.
void rtp_stream_begin(CTapedeckRTPStream *stream, const RTPSource *source);

/// Sends a packet without waiting, and looks now and then whether receivers said something. `now` is CLOCK_MONOTONIC in
/// nanoseconds. Returns whether a receiver needs a keyframe. Streaming thread.
bool rtp_stream_send(CTapedeckRTPStream *stream, const uint8_t *packet, size_t size, int64_t now);

#endif
