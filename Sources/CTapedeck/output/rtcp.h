// SPDX-License-Identifier: Apache-2.0
//
// The few RTCP packets of an RTP output (RFC 3550 section 6, RFC 4585 section 6.3.1, RFC 5104 section 4.3.1).

#ifndef CTAPEDECK_RTCP_H
#define CTAPEDECK_RTCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Holds a report, a name of 63 characters and a goodbye.
enum { RTCP_MAXIMUM_SIZE = 128 };

typedef struct {
    uint64_t ntp_time;
    uint32_t rtp_time;
    uint32_t packets;
    uint32_t bytes;
} RTCPSenderInfo;

/// The NTP time stamp `ticks` of a clock after another; `clock_rate` in Hz.
uint64_t rtcp_ntp_after(uint64_t ntp_time, int32_t ticks, uint32_t clock_rate);

// Each writes one packet and returns its size.
size_t rtcp_write_sender_report(uint8_t *packet, uint32_t ssrc, const RTCPSenderInfo *info);
/// A receiver report without reception blocks, as a compound packet of who has nothing to report begins.
size_t rtcp_write_empty_report(uint8_t *packet, uint32_t ssrc);
/// `cname`: at most 63 characters.
size_t rtcp_write_name(uint8_t *packet, uint32_t ssrc, const char *cname);
size_t rtcp_write_goodbye(uint8_t *packet, uint32_t ssrc);

/// Goes through the packets of a datagram; untrusted.
typedef struct {
    const uint8_t *data;
    size_t size;
    size_t offset;
} RTCPReader;

/// Contents of one packet of a receiver.
typedef struct {
    bool has_receiver;
    uint32_t receiver;
    bool has_left;
    bool wants_keyframe;
} RTCPNews;

/// Reads the next packet; false at the end, or at what is no RTCP. `ssrc` is ours.
bool rtcp_read(RTCPReader *reader, uint32_t ssrc, RTCPNews *news);

#endif
