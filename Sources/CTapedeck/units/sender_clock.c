// SPDX-License-Identifier: Apache-2.0

#include "sender_clock.h"

#include "CTapedeckReceive.h"

// Seconds from 1900 to 1970 (RFC 868).
#define NTP_TO_UNIX 2208988800ull

// A sender's clock that differs by more than this from where it was has been set. Video and audio change over one after
// the other, each with its next report; on our clock neither moves.
#define MAXIMUM_STEP ((int64_t)1 << 32)

// Reports come every few seconds, from some senders several times a second.
#define LEAST_INTERVAL_NANOSECONDS 200000000

uint64_t sender_clock_local_ntp(int64_t now) {
    static gsize is_known = 0;
    static int64_t unix_at_zero;
    if (g_once_init_enter(&is_known)) {
        unix_at_zero = g_get_real_time() * 1000 - CTapedeck_monotonic_nanoseconds();
        g_once_init_leave(&is_known, 1);
    }
    uint64_t nanoseconds = (uint64_t)(unix_at_zero + now);
    return ((nanoseconds / 1000000000 + NTP_TO_UNIX) << 32) + ((nanoseconds % 1000000000) << 32) / 1000000000;
}

static uint32_t place_of(SenderClock *clock, uint32_t ssrc) {
    uint32_t known = MIN(clock->count, SENDER_CLOCK_SOURCES);
    for (uint32_t index = 0; index < known; index++) {
        if (clock->sources[index].ssrc == ssrc) return index;
    }
    return known;
}

bool sender_clock_note(SenderClock *clock, uint32_t ssrc, uint64_t ntp_time, uint32_t rtp_time, int64_t now) {
    // A sender without a clock says 0 (RFC 3550 section 6.4.1).
    if (ntp_time == 0) return false;
    g_mutex_lock(&clock->lock);
    uint32_t place = place_of(clock, ssrc);
    bool is_known = place < MIN(clock->count, SENDER_CLOCK_SOURCES);
    if (is_known && now - clock->sources[place].noted_at < LEAST_INTERVAL_NANOSECONDS) {
        g_mutex_unlock(&clock->lock);
        return false;
    }
    int64_t offset = (int64_t)(sender_clock_local_ntp(now) - ntp_time);
    int64_t step = (int64_t)((uint64_t)offset - (uint64_t)clock->offset);
    if (!clock->has_offset || step > MAXIMUM_STEP || step < -MAXIMUM_STEP) {
        clock->offset = offset;
        clock->has_offset = true;
    }
    if (!is_known) {
        // A peer with too many sources loses the oldest.
        place = clock->count % SENDER_CLOCK_SOURCES;
        clock->count += 1;
    }
    clock->sources[place].ssrc = ssrc;
    clock->sources[place].rtp_time = rtp_time;
    clock->sources[place].ntp_time = ntp_time + (uint64_t)clock->offset;
    clock->sources[place].noted_at = now;
    g_mutex_unlock(&clock->lock);
    return true;
}

bool sender_clock_find(SenderClock *clock, uint32_t ssrc, uint64_t *ntp_time, uint32_t *rtp_time) {
    g_mutex_lock(&clock->lock);
    uint32_t place = place_of(clock, ssrc);
    bool is_known = place < MIN(clock->count, SENDER_CLOCK_SOURCES);
    if (is_known) {
        *ntp_time = clock->sources[place].ntp_time;
        *rtp_time = clock->sources[place].rtp_time;
    }
    g_mutex_unlock(&clock->lock);
    return is_known;
}
