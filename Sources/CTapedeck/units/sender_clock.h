// SPDX-License-Identifier: Apache-2.0
//
// The newest sender report of each source of a peer, on this host's clock.

#ifndef CTAPEDECK_SENDER_CLOCK_H
#define CTAPEDECK_SENDER_CLOCK_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

enum { SENDER_CLOCK_SOURCES = 32 };

typedef struct {
    GMutex lock;
    struct {
        uint32_t ssrc;
        uint32_t rtp_time;
        uint64_t ntp_time;
        int64_t noted_at;
    } sources[SENDER_CLOCK_SOURCES];
    uint32_t count;
    // From the sender's clock to ours, in 2^-32 s.
    int64_t offset;
    bool has_offset;
} SenderClock;

/// Any thread, as the others. `now` is CLOCK_MONOTONIC in nanoseconds. False for a report that is empty, or comes
/// sooner after the last one of its source than any sender has reason to.
bool sender_clock_note(SenderClock *clock, uint32_t ssrc, uint64_t ntp_time, uint32_t rtp_time, int64_t now);
bool sender_clock_find(SenderClock *clock, uint32_t ssrc, uint64_t *ntp_time, uint32_t *rtp_time);

/// The NTP time stamp of `now` by this host's clock; the process keeps the clock that it started with.
uint64_t sender_clock_local_ntp(int64_t now);

#endif
