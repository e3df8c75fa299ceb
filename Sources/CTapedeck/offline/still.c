// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckStill.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

static uint8_t *pull(GstElement *sink, uint64_t timeout_nanoseconds, size_t *size) {
    GstSample *sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), timeout_nanoseconds);
    if (sample == NULL) return NULL;
    uint8_t *bytes = NULL;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstMapInfo map;
    if (buffer != NULL && gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        bytes = g_memdup2(map.data, map.size);
        *size = map.size;
        gst_buffer_unmap(buffer, &map);
    }
    gst_sample_unref(sample);
    return bytes;
}

uint8_t *CTapedeck_convert_one(const char *launch, const uint8_t *data, size_t data_size, uint64_t timeout_nanoseconds,
                               size_t *size) {
    *size = 0;
    GstElement *pipeline = gst_parse_launch_full(launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL);
    if (pipeline == NULL) return NULL;
    uint8_t *bytes = NULL;
    GstElement *source = GST_IS_BIN(pipeline) ? gst_bin_get_by_name(GST_BIN(pipeline), "in") : NULL;
    GstElement *sink = GST_IS_BIN(pipeline) ? gst_bin_get_by_name(GST_BIN(pipeline), "out") : NULL;
    if (source != NULL && sink != NULL && gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE) {
        GstBuffer *buffer = gst_buffer_new_memdup(data, data_size);
        GST_BUFFER_PTS(buffer) = 0;
        gst_app_src_push_buffer(GST_APP_SRC(source), buffer);
        gst_app_src_end_of_stream(GST_APP_SRC(source));
        bytes = pull(sink, timeout_nanoseconds, size);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    if (source != NULL) gst_object_unref(source);
    if (sink != NULL) gst_object_unref(sink);
    gst_object_unref(pipeline);
    return bytes;
}
