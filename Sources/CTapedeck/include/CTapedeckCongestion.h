// SPDX-License-Identifier: Apache-2.0
//
// A peer's feedback about the path of our video to it: transport-wide congestion feedback
// (draft-holmer-rmcat-transport-wide-cc-extensions-01), receiver reports (RFC 3550 section 6.4.1) and the estimate of
// the receiver (draft-alvestrand-rmcat-remb-03). webrtcbin 1.22 alone does not number packets.

#ifndef CTAPEDECK_CONGESTION_H
#define CTAPEDECK_CONGESTION_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// The watcher of one peer connection. Thread-safe; reference counted.
typedef struct CTapedeckCongestion CTapedeckCongestion;

/// Feedback since the last look; times in nanoseconds.
typedef struct {
    /// Bytes of RTP packets of our video that left, repeated ones included.
    uint64_t sent_bytes;
    /// Transport-wide feedback: what arrived and what did not; all 0 if none came.
    uint64_t arrived_packets;
    uint64_t arrived_bytes;
    uint64_t lost_packets;
    /// How long it took them to arrive, by the receiver's clock: from the newest packet of the feedback before to the
    /// newest.
    int64_t arrival_span;
    /// Bytes that left after the newest packet that arrived: they are on their way, or lost.
    uint64_t bytes_on_their_way;
    /// How much longer the fastest packet took than the fastest of the last minute: what waits in queues on the way.
    int64_t queueing;
    /// Whether the peer sent transport-wide feedback.
    bool has_arrivals;
    /// Whether it reported on our video, and the share of packets lost since its last report in 1/256.
    bool has_report;
    uint8_t fraction_lost;
    /// The receiver's estimate in bits a second; 0 if none came.
    uint64_t estimate;
} CTapedeckCongestionNews;

CTapedeckCongestion *CTapedeck_congestion_new(void);
void CTapedeck_congestion_unref(CTapedeckCongestion *congestion);
/// Numbers what leaves an `rtpsession` element and reads what its peer reports; before the element has pads.
void CTapedeck_congestion_watch(CTapedeckCongestion *congestion, GstElement *rtp_session);
/// Which packets are our video, and under which header extension id (1 to 14) they are numbered; 0: they are not.
/// `retransmission` is a payload type, or negative. Others are left as they are.
void CTapedeck_congestion_number(CTapedeckCongestion *congestion, uint8_t payload_type, int retransmission,
                                 uint8_t extension_id);
/// Any thread.
CTapedeckCongestionNews CTapedeck_congestion_take(CTapedeckCongestion *congestion);

// For tests: one packet that left, behind the call above, and one RTCP datagram that came.
/// Returns the number that the packet gets.
uint16_t CTapedeck_congestion_note_sent(CTapedeckCongestion *congestion, uint32_t ssrc, uint32_t size, int64_t now);
/// Untrusted.
void CTapedeck_congestion_note_rtcp(CTapedeckCongestion *congestion, GstBuffer *buffer, int64_t now);

#endif
