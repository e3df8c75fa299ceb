// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckRender.h"

struct CTapedeckPassage {
    GstPad *pad;
    gulong probe;
    CTapedeckPassageCount count;
};

static int64_t running_time(GstPad *pad, GstClockTime time) {
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    if (event == NULL) return (int64_t)time;
    const GstSegment *segment = NULL;
    gst_event_parse_segment(event, &segment);
    guint64 running = 0;
    int sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, time, &running);
    gst_event_unref(event);
    return sign < 0 ? -(int64_t)running : (int64_t)running;
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    CTapedeckPassageCount *counted = user;
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    counted->units++;
    counted->bytes += gst_buffer_get_size(buffer);
    if (!GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT)) counted->keyframes++;
    if (GST_BUFFER_PTS_IS_VALID(buffer)) {
        int64_t start = running_time(pad, GST_BUFFER_PTS(buffer));
        int64_t end = start + (GST_BUFFER_DURATION_IS_VALID(buffer) ? (int64_t)GST_BUFFER_DURATION(buffer) : 0);
        if (counted->first_nanoseconds < 0) counted->first_nanoseconds = MAX(start, 0);
        counted->end_nanoseconds = MAX(counted->end_nanoseconds, end);
    }
    return GST_PAD_PROBE_OK;
}

CTapedeckPassage *CTapedeck_passage_new(GstPad *pad) {
    CTapedeckPassage *passage = g_new0(CTapedeckPassage, 1);
    passage->pad = gst_object_ref(pad);
    passage->count.first_nanoseconds = -1;
    passage->count.end_nanoseconds = -1;
    passage->probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count, &passage->count, NULL);
    return passage;
}

void CTapedeck_passage_free(CTapedeckPassage *passage) {
    gst_pad_remove_probe(passage->pad, passage->probe);
    gst_object_unref(passage->pad);
    g_free(passage);
}

CTapedeckPassageCount CTapedeck_passage_count(const CTapedeckPassage *passage) {
    return passage->count;
}
