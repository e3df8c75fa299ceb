// SPDX-License-Identifier: Apache-2.0
//
// Paths of RTSP URLs, however their writers escaped them.

#ifndef CTAPEDECK_RTSP_PATHS_H
#define CTAPEDECK_RTSP_PATHS_H

#include <gst/rtsp-server/rtsp-server.h>

/// Where everything is that is not there: who may not come in must not learn which it is.
#define RTSP_NOWHERE "/*"

/// Mount points that know one spelling of each path.
GstRTSPMountPoints *rtsp_mount_points_new(void);

/// A server whose clients' paths are spelt that way too.
GstRTSPServer *rtsp_plain_server_new(void);

#endif
