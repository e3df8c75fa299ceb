// SPDX-License-Identifier: Apache-2.0
//
// The counters behind CTapedeckStreams.h. Rows are never removed: a source that ends and comes again counts on in its row.

#ifndef CTAPEDECK_STREAM_COUNTS_H
#define CTAPEDECK_STREAM_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "CTapedeckStreams.h"

/// Any thread may add: the end of a stream and the beginning of the next one of its source are in two threads.
typedef struct {
    uint32_t ssrc;
    atomic_uint_fast64_t entered;
    atomic_uint_fast64_t restored;
    atomic_uint_fast64_t dropped;
    atomic_uint_fast64_t waiting;
    atomic_uint_fast64_t not_accepted;
    atomic_uint_fast64_t not_taken;
} StreamCounts;

/// Adds to one of the counters; what is negative wraps and so subtracts.
static inline void stream_counts_add(atomic_uint_fast64_t *counter, uint64_t packets) {
    atomic_fetch_add_explicit(counter, packets, memory_order_relaxed);
}

/// The row of a source, a new one if it has none. It lives as long as `streams`. Locks; not for each packet.
StreamCounts *streams_row(CTapedeckStreams *streams, uint32_t ssrc);
/// Whether packets of the payload type, 0 to 127, are accepted.
bool streams_accept(CTapedeckStreams *streams, uint8_t payload_type);

#endif
