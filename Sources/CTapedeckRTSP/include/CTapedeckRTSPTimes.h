// SPDX-License-Identifier: Apache-2.0
//
// When the packets of one sender were sampled, on the clock of the pipeline that sends them on.
//
// Clients put video and audio together by the sender reports that GstRTSPMedia makes of these times (RFC 3550 section
// 6.4.1), so all streams of a sender share one of these.

#ifndef CTAPEDECK_RTSP_TIMES_H
#define CTAPEDECK_RTSP_TIMES_H

#include <stdint.h>

/// The way from the sender's clock to the running time of a pipeline.
typedef struct CTapedeckRTSPTimes CTapedeckRTSPTimes;

CTapedeckRTSPTimes *CTapedeck_rtsp_times_new(void);
CTapedeckRTSPTimes *CTapedeck_rtsp_times_ref(CTapedeckRTSPTimes *times);
void CTapedeck_rtsp_times_unref(CTapedeckRTSPTimes *times);

/// The running time of what was sampled at `sampled` and comes `now`: never later than `now`, and at least 0.
///
/// Packets may be late for some seconds, because their sender or this host has too much to do, and keep their places. A
/// packet earlier than any before it moves all that follow. All in nanoseconds; any thread.
int64_t CTapedeck_rtsp_times_place(CTapedeckRTSPTimes *times, int64_t sampled, int64_t now);

#endif
