// SPDX-License-Identifier: Apache-2.0
//
// What a GstRTSPMedia takes for a payloader: packets of a feed as they are, with the times at which they were sampled.

#ifndef CTAPEDECK_RTSP_SOURCE_H
#define CTAPEDECK_RTSP_SOURCE_H

#include "feed.h"

/// What the streams of one media have in common: the way from the sender's clock to that of the pipeline.
typedef struct RTSPTimes RTSPTimes;

RTSPTimes *rtsp_times_new(void);
RTSPTimes *rtsp_times_ref(RTSPTimes *times);
void rtsp_times_unref(RTSPTimes *times);

/// A floating element. PLI and FIR of clients reach the feed; a stream that is silent makes a gap, so that nobody waits.
GstElement *rtsp_source_new(const char *name, RTSPFeed *feed, RTSPTimes *times);

#endif
