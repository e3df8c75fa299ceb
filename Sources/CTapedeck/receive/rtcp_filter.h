// SPDX-License-Identifier: Apache-2.0
//
// Filters a peer's RTCP for rtpsession, which makes a source of each that a packet describes: one datagram has room for
// two hundred. The senders of media are known, and descriptions of others are useless here.

#ifndef CTAPEDECK_RTCP_FILTER_H
#define CTAPEDECK_RTCP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whom packets may name. Called in the thread of `rtcp_filter_keep`.
typedef struct {
    /// Whether a source may report, of which it is known then. A packet with one that may not is dropped as a whole.
    bool (*may_report)(void *user, uint32_t ssrc);
    /// Whether a source that is described may stay.
    bool (*is_known)(void *user, uint32_t ssrc);
    void *user;
} RTCPFilter;

/// Leaves of a compound packet (RFC 3550 section 6.1), authentic and decrypted, where it is, what does not describe unknown
/// sources; returns its new size. 0 if nothing is left, if it is damaged, or if it reports for who may not.
size_t rtcp_filter_keep(const RTCPFilter *filter, uint8_t *bytes, size_t size);

#endif
