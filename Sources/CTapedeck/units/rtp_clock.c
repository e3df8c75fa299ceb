// SPDX-License-Identifier: Apache-2.0

#include "rtp_clock.h"

#include <time.h>

#include "CTapedeckReceive.h"

static int64_t nanoseconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t CTapedeck_monotonic_nanoseconds(void) { return nanoseconds_of(CLOCK_MONOTONIC); }

int64_t CTapedeck_suspended_nanoseconds(void) {
    // In this order a thread that is stopped between the two has slept less, never more.
    int64_t since_start = nanoseconds_of(CLOCK_BOOTTIME);
    return since_start - nanoseconds_of(CLOCK_MONOTONIC);
}

int64_t rtp_clock_arrival(GstBuffer *packet, int64_t base, int64_t now) {
    static const int64_t maximum_age = 10000000000;
    if (!GST_BUFFER_PTS_IS_VALID(packet) || GST_BUFFER_PTS(packet) > (GstClockTime)now) return now;
    int64_t arrival = base + (int64_t)GST_BUFFER_PTS(packet);
    return arrival <= now && now - arrival < maximum_age ? arrival : now;
}

int64_t CTapedeck_unwrap_rtp_time(int64_t previous, uint32_t rtp_time) {
    return previous + (int32_t)(rtp_time - (uint32_t)previous);
}
