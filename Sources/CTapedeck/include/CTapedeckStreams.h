// SPDX-License-Identifier: Apache-2.0
//
// Fates of the packets of each source between rtpsession and the taps, and the payload types that go that way.
//
//   rtpsession ─► rtprtxreceive ─► reorder buffer ──────► hold ──────────► tap
//                    restored        dropped, waiting,     waiting,
//                                    not accepted          not taken

#ifndef CTAPEDECK_STREAMS_H
#define CTAPEDECK_STREAMS_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

/// Packets of one source. Each packet that entered was dropped, was not accepted, was not taken, waits, or reached a tap.
typedef struct {
    uint32_t ssrc;
    /// Packets that came to the source's reorder buffer, and those of them that came over RTX (RFC 4588).
    uint64_t entered;
    uint64_t restored;
    /// Packets that the reorder buffer dropped: they came twice or too late, stood alone far from the others, or still waited
    /// when the source's stream ended.
    uint64_t dropped;
    /// Packets that wait for others in the reorder buffer, or for a tap.
    uint64_t waiting;
    /// Packets of payload types that are not accepted.
    uint64_t not_accepted;
    /// Packets that no tap took: there were too many of them before one came, or none ever did.
    uint64_t not_taken;
} CTapedeckStreamCount;

/// The sources of one rtpbin. Thread-safe; reference counted.
typedef struct CTapedeckStreams CTapedeckStreams;

/// All payload types are accepted.
CTapedeckStreams *CTapedeck_streams_new(void);
CTapedeckStreams *CTapedeck_streams_ref(CTapedeckStreams *streams);
void CTapedeck_streams_unref(CTapedeckStreams *streams);
/// The payload types that are accepted from now on, a bit each: `low` has 0 to 63, `high` 64 to 127. Any thread.
void CTapedeck_streams_accept(CTapedeckStreams *streams, uint64_t low, uint64_t high);
/// Copies the counts of at most `capacity` sources, and returns how many sources there are. Any thread.
size_t CTapedeck_streams_counts(CTapedeckStreams *streams, CTapedeckStreamCount *counts, size_t capacity);

#endif
