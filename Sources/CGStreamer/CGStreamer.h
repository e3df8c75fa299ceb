// SPDX-License-Identifier: Apache-2.0
// Umbrella header: everything of GStreamer that the GStreamer target uses.
#ifndef CGSTREAMER_H
#define CGSTREAMER_H

#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/webrtc/webrtc.h>

#endif
