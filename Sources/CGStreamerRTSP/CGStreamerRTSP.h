// SPDX-License-Identifier: Apache-2.0
// Umbrella header: GStreamer's RTSP server, for CTapedeckRTSP.
#ifndef CGSTREAMERRTSP_H
#define CGSTREAMERRTSP_H

#include <gst/rtsp-server/rtsp-server.h>

#endif
