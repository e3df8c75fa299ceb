// SPDX-License-Identifier: Apache-2.0

#ifndef CTAPEDECK_CANVAS_H
#define CTAPEDECK_CANVAS_H

#include "CTapedeckRender.h"

#include <gst/video/video.h>

/// Maps a sample's frame for reading; `info` is filled in from its caps.
gboolean CTapedeck_sample_map(GstSample *sample, GstVideoInfo *info, GstVideoFrame *frame);

/// A buffer with what is on the canvas now, transfer full.
GstBuffer *CTapedeck_canvas_buffer(CTapedeckCanvas *canvas);

#endif
