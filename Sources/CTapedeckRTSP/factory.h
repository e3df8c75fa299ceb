// SPDX-License-Identifier: Apache-2.0
//
// Makes media of feeds.

#ifndef CTAPEDECK_RTSP_FACTORY_H
#define CTAPEDECK_RTSP_FACTORY_H

#include "server.h"
#include "source.h"

enum { RTSP_MAXIMUM_FEEDS = 2 };

/// A factory whose media read these feeds. Without any it makes nothing, and admits no client; see `RTSP_NOWHERE`.
GstRTSPMediaFactory *rtsp_factory_new(RTSPFeed *const *feeds, unsigned count);

/// Asks for a keyframe of what a media shows. Any thread.
void rtsp_media_request_keyframe(GstRTSPMedia *media);

#endif
