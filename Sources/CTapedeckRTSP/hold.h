// SPDX-License-Identifier: Apache-2.0
//
// Media are there while a client asks for them.

#ifndef CTAPEDECK_RTSP_HOLD_H
#define CTAPEDECK_RTSP_HOLD_H

#include <gst/rtsp-server/rtsp-server.h>

/// Has DESCRIBE and SETUP of a client wait until media that the last client leaves are gone, and keeps the next ones
/// until it is answered. GstRTSPClient itself answers 503 while they go (1.22).
void rtsp_client_hold_media(GstRTSPClient *client);

/// The part of it that comes before a SETUP, from within the client's `make_path_from_uri`: `pre-setup-request` comes when
/// the client has looked for the media. Does nothing in other requests.
void rtsp_client_hold_media_for_setup(GstRTSPClient *client);

#endif
