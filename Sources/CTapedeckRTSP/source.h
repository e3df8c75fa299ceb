// SPDX-License-Identifier: Apache-2.0
//
// What a GstRTSPMedia takes for a payloader: packets of a feed as they are, with the times at which they were sampled.

#ifndef CTAPEDECK_RTSP_SOURCE_H
#define CTAPEDECK_RTSP_SOURCE_H

#include "CTapedeckRTSPTimes.h"
#include "feed.h"

/// A floating element. PLI and FIR of clients reach the feed; a stream that is silent makes a gap, so that nobody waits.
GstElement *rtsp_source_new(const char *name, RTSPFeed *feed, CTapedeckRTSPTimes *times);

#endif
