// SPDX-License-Identifier: Apache-2.0
//
// One stream that a worker sends to us over loopback.

#ifndef CTAPEDECK_RTSP_FEED_H
#define CTAPEDECK_RTSP_FEED_H

#include <gio/gio.h>
#include <gst/gst.h>
#include <stdbool.h>

#include "CTapedeckRTSP.h"

typedef struct RTSPFeed RTSPFeed;

/// Opens the sockets, and reads reports in `context` from now on. NULL, with words in `error`, if they cannot be had.
RTSPFeed *rtsp_feed_new(GMainContext *context, const char *address, const CTapedeckRTSPLine *line, GstCaps *caps,
                        char **error);
RTSPFeed *rtsp_feed_ref(RTSPFeed *feed);
void rtsp_feed_unref(RTSPFeed *feed);
/// Reads nothing any more.
void rtsp_feed_close(RTSPFeed *feed);

GSocket *rtsp_feed_socket(RTSPFeed *feed);
GstCaps *rtsp_feed_caps(RTSPFeed *feed);
bool rtsp_feed_is_video(RTSPFeed *feed);
/// Drops packets that came while no client was there.
void rtsp_feed_drain(RTSPFeed *feed);
/// Asks the worker for a keyframe, at most twice a second: who comes sooner after another is asked for with the next
/// packet that is due. Any thread.
void rtsp_feed_request_keyframe(RTSPFeed *feed);
/// Sends a request that came too soon and is due by now. Any thread.
void rtsp_feed_send_request(RTSPFeed *feed);
/// When a packet with that RTP time was sampled, in nanoseconds of the sender's clock. FALSE before the first report.
/// Any thread.
bool rtsp_feed_sample_time(RTSPFeed *feed, uint32_t rtp_time, int64_t *time);

#endif
