// SPDX-License-Identifier: Apache-2.0
//
// How many sources (SSRC) one connection may have. srtpdec, rtpsession and rtpssrcdemux keep something for each that they
// ever saw, srtpdec even before it knows whether a packet is genuine.
//
//   dtlssrtpdemux ──probe──► srtpdec ──probe──► rtpsession
//     known: one look-up              contributing sources and what describes others: taken off
//     new: authentic and room,        reports of others: room, or dropped
//          or dropped
//
// It also controls decryption. srtpdec has RTCP, and media until it has announced the stream to rtpsession, which it
// does with the first packet of DTLS; then media are decrypted by the probe and go around it (srtp_receiver.c).

#ifndef CTAPEDECK_SOURCES_H
#define CTAPEDECK_SOURCES_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Admits sources to an `srtpdec`. Reference counted: the owner holds one, each probe holds one.
typedef struct CTapedeckSourceGuard CTapedeckSourceGuard;

/// Payload types that a source may have: four codecs and what repairs them. rtpbin has a row of elements for each that comes,
/// whatever was agreed on.
enum { CTAPEDECK_SOURCE_PAYLOAD_TYPES = 8 };

/// Why a packet is refused.
typedef enum {
    /// It is of a source beyond, or of a payload type beyond.
    CTAPEDECK_REFUSED_SOURCE = 1,
    /// It was not made with the key that the handshake gave.
    CTAPEDECK_REFUSED_KEY = 2,
} CTapedeckRefusal;

/// Called once for each reason, with the first packet that is refused for it. Streaming thread: must not block.
typedef void (*CTapedeckSourceCallback)(void *user, CTapedeckRefusal reason);

/// Guards an `srtpdec` before it gets its first packet. The first `maximum_sources` whose packets are authentic pass
/// for as long as it lives; a packet of another source is dropped. Fields that only name sources are removed and take
/// no slot. Forged packets take no source's place. Packets that come before the key are kept until then, up to 1024
/// packets and 1 MiB. Without `decrypts` all media go through srtpdec. `release` is called with `user` when the last
/// reference to the guard is gone.
CTapedeckSourceGuard *CTapedeck_source_guard_new(GstElement *srtpdec, uint32_t maximum_sources, bool decrypts,
                                                 CTapedeckSourceCallback callback, void *user, GDestroyNotify release);
void CTapedeck_source_guard_unref(CTapedeckSourceGuard *guard);
/// Lets nothing pass any more, and waits until what has passed is where it ends: what comes while elements are stopped would get
/// lost between two of them. Control thread.
void CTapedeck_source_guard_close(CTapedeckSourceGuard *guard, GstElement *srtpdec);
/// Sources that were let in. Any thread.
uint32_t CTapedeck_source_guard_sources(CTapedeckSourceGuard *guard);
/// Authentic packets of one source.
typedef struct {
    uint32_t ssrc;
    /// Its payload types, and the packets of each that were let in.
    uint8_t payload_types[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    uint64_t packets[CTAPEDECK_SOURCE_PAYLOAD_TYPES];
    uint32_t payload_type_count;
    /// Packets of payload types beyond those, which were not let in.
    uint64_t beyond;
    /// Packets of admitted sources that rtpsession did not pass on: before it accepts a new source, or out of sequence
    /// (RFC 3550 appendix A.1).
    uint64_t kept_back;
} CTapedeckSourceCount;

/// Copies the counts of at most `capacity` sources, and returns how many there are. Any thread.
size_t CTapedeck_source_guard_counts(CTapedeckSourceGuard *guard, CTapedeckSourceCount *counts, size_t capacity);
/// Packets of a source beyond. Any thread.
uint64_t CTapedeck_source_guard_refused(CTapedeckSourceGuard *guard);
/// Whether media go through srtpdec: something else than rtpsession follows it, the key is of another kind, or it was asked
/// for. Any thread.
bool CTapedeck_source_guard_goes_through(CTapedeckSourceGuard *guard);
/// Packets that went around srtpdec. Any thread.
uint64_t CTapedeck_source_guard_decrypted(CTapedeckSourceGuard *guard);
/// Packets of media that were not made with the key that the handshake gave (CTapedeck_srtp_receiver_forged). Those of a source that srtpdec has let in and
/// decrypts are not among them: it drops them without a word. Any thread.
uint64_t CTapedeck_source_guard_forged(CTapedeckSourceGuard *guard);
/// The same of all guards that this process ever had. Any thread.
uint64_t CTapedeck_forged_packets(void);

#endif
