// SPDX-License-Identifier: Apache-2.0
//
// An element that GstRTSPMedia accepts as a payloader: packets of a feed, unchanged, with the times at which they were
// sampled.

#ifndef CTAPEDECK_RTSP_SOURCE_H
#define CTAPEDECK_RTSP_SOURCE_H

#include "CTapedeckRTSPTimes.h"
#include "feed.h"

/// A floating element. PLI and FIR of clients reach the feed; a silent stream makes a gap, which keeps other streams
/// from waiting.
GstElement *rtsp_source_new(const char *name, RTSPFeed *feed, CTapedeckRTSPTimes *times);

#endif
