// SPDX-License-Identifier: Apache-2.0
//
// When packets came, on the clock of every arrival time here.

#ifndef CTAPEDECK_RTP_CLOCK_H
#define CTAPEDECK_RTP_CLOCK_H

#include <gst/gst.h>
#include <stdint.h>

/// When a packet came: its time stamp is the running time of that, counted from `base`. `now` if it has none, or none
/// that can be.
int64_t rtp_clock_arrival(GstBuffer *packet, int64_t base, int64_t now);

#endif
