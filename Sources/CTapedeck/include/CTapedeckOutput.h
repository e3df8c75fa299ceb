// SPDX-License-Identifier: Apache-2.0
//
// RTP outputs: packets of a received track sent on as they are, with numbers of our own.
//
//   webrtcbin src pad ──probe──► fork ──► stream (RTP and RTCP socket) ──► host:port, host:port + 1
//     streaming thread: rewrite the header,   │ ▲
//     send without waiting                    │ └── receiver reports, PLI, FIR, BYE
//                                             └──── sender reports made of those of the remote sender

#ifndef CTAPEDECK_OUTPUT_H
#define CTAPEDECK_OUTPUT_H

#include "CTapedeckReceive.h"

/// One RTP stream of ours: its sockets and its numbering. Continues when another received track takes over.
typedef struct CTapedeckRTPStream CTapedeckRTPStream;

/// The place where a received track meets the streams that send it on.
typedef struct CTapedeckFork CTapedeckFork;

enum {
    /// Bytes of a key with its salt.
    CTAPEDECK_RTP_KEY_SIZE = 30,
};

/// Where a stream goes, and what it is called.
typedef struct {
    /// IPv4 or IPv6 address, as text.
    const char *address;
    /// RTP; RTCP goes to the next one.
    uint16_t port;
    /// Our own RTP port, RTCP being the next one; 0 leaves both to the system.
    uint16_t source_port;
    /// The network interface of multicast packets; NULL leaves it to the routing table.
    const char *interface;
    /// Routers that a packet may pass.
    int time_to_live;
    uint32_t ssrc;
    /// At most 63 characters.
    const char *cname;
    /// CTAPEDECK_RTP_KEY_SIZE bytes: packets are encrypted (SRTP, AES_CM_128_HMAC_SHA1_80); NULL: they are not.
    const uint8_t *key;
} CTapedeckRTPTarget;

/// Counters of a stream so far.
typedef struct {
    uint64_t packets;
    /// RTP headers included.
    uint64_t bytes;
    /// Packets that could not be sent: no receiver, no route, no room in the socket.
    uint64_t dropped;
    /// PLI and FIR requests of receivers (RFC 4585, RFC 5104), and receivers that came.
    uint64_t keyframe_requests;
    /// Sender reports sent.
    uint64_t reports;
    /// The errno of the last packet that was dropped; 0 if there is none.
    int last_error;
    /// Our own RTP port.
    uint16_t source_port;
    /// An encrypted stream without a receiver that has sent so much that a new receiver may not be able to read it.
    bool is_worn;
} CTapedeckRTPStreamCounters;

/// Opens the sockets; nothing is sent yet. NULL, and the errno in `error`, if that is refused.
CTapedeckRTPStream *CTapedeck_rtp_stream_new(const CTapedeckRTPTarget *target, int *error);
void CTapedeck_rtp_stream_unref(CTapedeckRTPStream *stream);
/// Says goodbye (RTCP BYE) and closes the sockets. Any thread; once or more.
void CTapedeck_rtp_stream_close(CTapedeckRTPStream *stream);
/// Any thread.
CTapedeckRTPStreamCounters CTapedeck_rtp_stream_counters(CTapedeckRTPStream *stream);

/// A fork of the track with that SSRC. `receiver` knows the sender's clock.
CTapedeckFork *CTapedeck_fork_new(CTapedeckReceiver *receiver, uint32_t ssrc, bool is_video);
void CTapedeck_fork_unref(CTapedeckFork *fork);
/// Watches the packets of webrtcbin's source pad.
void CTapedeck_fork_attach(CTapedeckFork *fork, GstPad *rtp_pad);
/// Sends the packets on through `stream` from now on; FALSE if 18 do already. Any thread.
bool CTapedeck_fork_add(CTapedeckFork *fork, CTapedeckRTPStream *stream, uint8_t payload_type, uint32_t clock_rate);
/// When it returns, nothing of this track is sent through `stream` any more. Any thread.
void CTapedeck_fork_remove(CTapedeckFork *fork, CTapedeckRTPStream *stream);
/// CLOCK_MONOTONIC of the last packet; 0 before the first. Any thread.
int64_t CTapedeck_fork_last_packet_nanoseconds(CTapedeckFork *fork);
/// Bytes of the track's packets so far, sent on or not. Any thread.
uint64_t CTapedeck_fork_bytes(CTapedeckFork *fork);
/// Notes from now on what parameter sets of H.264 (RFC 6184) the packets have that are sent on.
void CTapedeck_fork_note_sets(CTapedeckFork *fork);
/// The last parameter set of a type, 7 (SPS) or 8 (PPS); its size, 0 if there was none that fits in `capacity`.
size_t CTapedeck_fork_copy_set(CTapedeckFork *fork, uint8_t type, uint8_t *set, size_t capacity);

/// The last sender report of a source, with its NTP time moved to this host's clock by the same amount for every source
/// of the receiver. FALSE before the first. Any thread.
bool CTapedeck_receiver_sender_clock(CTapedeckReceiver *receiver, uint32_t ssrc, uint64_t *ntp_time, uint32_t *rtp_time);

#endif
