// SPDX-License-Identifier: Apache-2.0

#include "canvas.h"

#include <gst/app/gstappsrc.h>

struct CTapedeckFeed {
    GstAppSrc *source;
    unsigned maximum_buffers;
    GMutex lock;
    GCond room;
};

enum {
    /// A signal can come between looking and waiting: look again after this, in microseconds.
    RECHECK = 20000,
};

static void wake(GstAppSrc *source, guint length, gpointer user) {
    (void)source;
    (void)length;
    CTapedeckFeed *feed = user;
    g_mutex_lock(&feed->lock);
    g_cond_signal(&feed->room);
    g_mutex_unlock(&feed->lock);
}

CTapedeckFeed *CTapedeck_feed_new(GstElement *appsrc, unsigned maximum_buffers) {
    CTapedeckFeed *feed = g_new0(CTapedeckFeed, 1);
    g_mutex_init(&feed->lock);
    g_cond_init(&feed->room);
    feed->source = gst_object_ref(appsrc);
    feed->maximum_buffers = maximum_buffers;
    g_object_set(appsrc, "format", GST_FORMAT_TIME, "max-buffers", (guint64)maximum_buffers, "max-bytes", (guint64)0,
                 "max-time", (guint64)0, "min-percent", 50, "block", FALSE, NULL);
    GstAppSrcCallbacks callbacks = {.need_data = wake};
    gst_app_src_set_callbacks(feed->source, &callbacks, feed, NULL);
    return feed;
}

void CTapedeck_feed_free(CTapedeckFeed *feed) {
    GstAppSrcCallbacks none = {0};
    gst_app_src_set_callbacks(feed->source, &none, NULL, NULL);
    gst_object_unref(feed->source);
    g_cond_clear(&feed->room);
    g_mutex_clear(&feed->lock);
    g_free(feed);
}

static bool push(CTapedeckFeed *feed, GstBuffer *buffer, int64_t nanoseconds, int64_t duration, int64_t patience) {
    if (buffer == NULL) return false;
    GST_BUFFER_PTS(buffer) = (GstClockTime)nanoseconds;
    GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
    GST_BUFFER_DURATION(buffer) = (GstClockTime)duration;
    gint64 deadline = g_get_monotonic_time() + patience / 1000;
    g_mutex_lock(&feed->lock);
    while (gst_app_src_get_current_level_buffers(feed->source) >= feed->maximum_buffers) {
        gint64 now = g_get_monotonic_time();
        if (now >= deadline) {
            g_mutex_unlock(&feed->lock);
            gst_buffer_unref(buffer);
            return false;
        }
        g_cond_wait_until(&feed->room, &feed->lock, MIN(deadline, now + RECHECK));
    }
    g_mutex_unlock(&feed->lock);
    return gst_app_src_push_buffer(feed->source, buffer) == GST_FLOW_OK;
}

bool CTapedeck_feed_push_canvas(CTapedeckFeed *feed, CTapedeckCanvas *canvas, int64_t nanoseconds, int64_t duration,
                                int64_t patience) {
    return push(feed, CTapedeck_canvas_buffer(canvas), nanoseconds, duration, patience);
}

bool CTapedeck_feed_push_bytes(CTapedeckFeed *feed, const void *data, size_t size, int64_t nanoseconds, int64_t duration,
                               int64_t patience) {
    return push(feed, gst_buffer_new_memdup(data, size), nanoseconds, duration, patience);
}

void CTapedeck_feed_finish(CTapedeckFeed *feed) {
    gst_app_src_end_of_stream(feed->source);
}
