// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <stdatomic.h>
#include <time.h>

#include "queue.h"

// Tag on the first packet of each RTP time stamp; it survives depayloaders and parsers (gstreamer.md facts 94, 123).
// Its time stamp is the unwrapped RTP time moved up by RTP_TIME_BIAS, as GstClockTime is unsigned; its duration is the
// arrival time.
#define RTP_TIME_BIAS ((int64_t)1 << 62)

// A packet further back than this is not late: the sender counts anew (RFC 3550 appendix A.1).
enum { MAXIMUM_MISORDER = 100 };

struct CTapedeckTap {
    gatomicrefcount references;
    uint64_t id;
    uint32_t ssrc;
    CTapedeckQueue *queue;
    GstCaps *tag;
    atomic_bool closed;

    // Streaming thread only.
    bool started;
    uint16_t last_sequence;
    uint32_t last_rtp_time;
    int64_t unwrapped;
    uint32_t lost_since_unit;

    atomic_uint_fast64_t packets;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t units;
    atomic_int_fast64_t last_packet;
};

int64_t CTapedeck_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t CTapedeck_unwrap_rtp_time(int64_t previous, uint32_t rtp_time) {
    return previous + (int32_t)(rtp_time - (uint32_t)previous);
}

CTapedeckTap *CTapedeck_tap_new(uint64_t id, uint32_t ssrc, CTapedeckQueue *queue) {
    CTapedeckTap *tap = g_new0(CTapedeckTap, 1);
    g_atomic_ref_count_init(&tap->references);
    tap->id = id;
    tap->ssrc = ssrc;
    tap->queue = CTapedeck_queue_ref(queue);
    tap->tag = gst_caps_new_empty_simple("timestamp/x-tapedeck-rtp");
    return tap;
}

CTapedeckTap *CTapedeck_tap_ref(CTapedeckTap *tap) {
    g_atomic_ref_count_inc(&tap->references);
    return tap;
}

void CTapedeck_tap_unref(CTapedeckTap *tap) {
    if (!g_atomic_ref_count_dec(&tap->references)) return;
    CTapedeck_queue_unref(tap->queue);
    gst_caps_unref(tap->tag);
    g_free(tap);
}

static void release_tap(gpointer tap) { CTapedeck_tap_unref(tap); }

// Counts one packet and unwraps its time stamp. Returns whether it is the first packet of its time stamp.
static bool note_packet(CTapedeckTap *tap, GstBuffer *buffer, int64_t now) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp)) return false;
    uint32_t time = gst_rtp_buffer_get_timestamp(&rtp);
    uint16_t sequence = gst_rtp_buffer_get_seq(&rtp);
    gst_rtp_buffer_unmap(&rtp);

    atomic_fetch_add_explicit(&tap->packets, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tap->bytes, gst_buffer_get_size(buffer), memory_order_relaxed);
    atomic_store_explicit(&tap->last_packet, now, memory_order_relaxed);

    if (!tap->started) {
        tap->started = true;
        tap->last_sequence = sequence;
        tap->last_rtp_time = time;
        tap->unwrapped = time;
        return true;
    }
    int16_t step = (int16_t)(sequence - tap->last_sequence);
    if (step > 0) {
        tap->lost_since_unit += (uint32_t)(step - 1);
        atomic_fetch_add_explicit(&tap->lost, (uint64_t)(step - 1), memory_order_relaxed);
        tap->last_sequence = sequence;
    } else if (step < -MAXIMUM_MISORDER) {
        tap->last_sequence = sequence;
    }
    if (time == tap->last_rtp_time) return false;
    tap->last_rtp_time = time;
    tap->unwrapped = CTapedeck_unwrap_rtp_time(tap->unwrapped, time);
    return true;
}

static GstBuffer *tag_packet(CTapedeckTap *tap, GstBuffer *buffer, int64_t now) {
    if (!note_packet(tap, buffer, now)) return buffer;
    buffer = gst_buffer_make_writable(buffer);
    gst_buffer_add_reference_timestamp_meta(buffer, tap->tag, (GstClockTime)(tap->unwrapped + RTP_TIME_BIAS),
                                            (GstClockTime)now);
    return buffer;
}

static gboolean tag_list_item(GstBuffer **buffer, guint index, gpointer tap) {
    (void)index;
    *buffer = tag_packet(tap, *buffer, CTapedeck_monotonic_nanoseconds());
    return TRUE;
}

// Streaming thread of the jitter buffer. Owns the buffer in `info` while it runs; never blocks.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckTap *tap = user;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
        gst_buffer_list_foreach(list, tag_list_item, tap);
        info->data = list;
    } else {
        info->data = tag_packet(tap, GST_PAD_PROBE_INFO_BUFFER(info), CTapedeck_monotonic_nanoseconds());
    }
    return GST_PAD_PROBE_OK;
}

void CTapedeck_tap_attach_rtp(CTapedeckTap *tap, GstPad *rtp_pad) {
    gst_pad_add_probe(rtp_pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packet,
                      CTapedeck_tap_ref(tap), release_tap);
}

// Streaming thread, the same as on_packet's: there is no queue between the two. Always GST_FLOW_OK: an error would
// stop every track of the connection (gstreamer.md fact 6).
static GstFlowReturn on_sample(GstAppSink *sink, gpointer user) {
    CTapedeckTap *tap = user;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_OK;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstReferenceTimestampMeta *tag =
        buffer != NULL ? gst_buffer_get_reference_timestamp_meta(buffer, tap->tag) : NULL;
    if (tag != NULL && !atomic_load_explicit(&tap->closed, memory_order_relaxed)) {
        CTapedeckItem item = {
            .kind = CTAPEDECK_ITEM_UNIT,
            .source = tap->id,
            .ssrc = tap->ssrc,
            .rtp_time = (int64_t)tag->timestamp - RTP_TIME_BIAS,
            .arrival_nanoseconds = (int64_t)tag->duration,
            .lost_before = tap->lost_since_unit,
            .size = gst_buffer_get_size(buffer),
            .buffer = buffer,
        };
        if (CTapedeck_queue_push(tap->queue, &item)) {
            tap->lost_since_unit = 0;
            atomic_fetch_add_explicit(&tap->units, 1, memory_order_relaxed);
        } else {
            // What the reader never saw is a loss to it: it must ask for a keyframe.
            tap->lost_since_unit += 1;
        }
    }
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

void CTapedeck_tap_attach_sink(CTapedeckTap *tap, GstElement *appsink) {
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, CTapedeck_tap_ref(tap), release_tap);
}

void CTapedeck_tap_close(CTapedeckTap *tap) { atomic_store_explicit(&tap->closed, true, memory_order_relaxed); }

CTapedeckTapCounters CTapedeck_tap_counters(CTapedeckTap *tap) {
    return (CTapedeckTapCounters){
        .packets = atomic_load_explicit(&tap->packets, memory_order_relaxed),
        .bytes = atomic_load_explicit(&tap->bytes, memory_order_relaxed),
        .lost = atomic_load_explicit(&tap->lost, memory_order_relaxed),
        .units = atomic_load_explicit(&tap->units, memory_order_relaxed),
        .last_packet_nanoseconds = atomic_load_explicit(&tap->last_packet, memory_order_relaxed),
    };
}

struct CTapedeckReceiver {
    gatomicrefcount references;
    uint64_t id;
    CTapedeckQueue *queue;
    atomic_int_fast64_t last_report;
};

CTapedeckReceiver *CTapedeck_receiver_new(uint64_t id, CTapedeckQueue *queue) {
    CTapedeckReceiver *receiver = g_new0(CTapedeckReceiver, 1);
    g_atomic_ref_count_init(&receiver->references);
    receiver->id = id;
    receiver->queue = queue != NULL ? CTapedeck_queue_ref(queue) : NULL;
    return receiver;
}

void CTapedeck_receiver_unref(CTapedeckReceiver *receiver) {
    if (!g_atomic_ref_count_dec(&receiver->references)) return;
    if (receiver->queue != NULL) CTapedeck_queue_unref(receiver->queue);
    g_free(receiver);
}

// RTCP thread of the session. The buffer stays the session's; never blocks.
static void on_rtcp(gpointer session, GstBuffer *buffer, gpointer user) {
    (void)session;
    CTapedeckReceiver *receiver = user;
    int64_t now = CTapedeck_monotonic_nanoseconds();
    atomic_store_explicit(&receiver->last_report, now, memory_order_relaxed);
    if (receiver->queue == NULL) return;

    GstRTCPBuffer rtcp = GST_RTCP_BUFFER_INIT;
    GstRTCPPacket packet;
    if (!gst_rtcp_buffer_map(buffer, GST_MAP_READ, &rtcp)) return;
    gboolean more = gst_rtcp_buffer_get_first_packet(&rtcp, &packet);
    while (more) {
        if (gst_rtcp_packet_get_type(&packet) == GST_RTCP_TYPE_SR) {
            guint32 ssrc, rtp_time;
            guint64 ntp_time;
            gst_rtcp_packet_sr_get_sender_info(&packet, &ssrc, &ntp_time, &rtp_time, NULL, NULL);
            CTapedeckItem item = {
                .kind = CTAPEDECK_ITEM_SENDER_REPORT,
                .source = receiver->id,
                .ssrc = ssrc,
                .rtp_time = rtp_time,
                .arrival_nanoseconds = now,
                .ntp_time = ntp_time,
            };
            CTapedeck_queue_push(receiver->queue, &item);
        }
        more = gst_rtcp_packet_move_to_next(&packet);
    }
    gst_rtcp_buffer_unmap(&rtcp);
}

static void release_receiver(gpointer receiver, GClosure *closure) {
    (void)closure;
    CTapedeck_receiver_unref(receiver);
}

void CTapedeck_receiver_watch(CTapedeckReceiver *receiver, gpointer rtp_session) {
    g_atomic_ref_count_inc(&receiver->references);
    g_signal_connect_data(rtp_session, "on-receiving-rtcp", G_CALLBACK(on_rtcp), receiver, release_receiver, 0);
}

int64_t CTapedeck_receiver_last_report_nanoseconds(CTapedeckReceiver *receiver) {
    return atomic_load_explicit(&receiver->last_report, memory_order_relaxed);
}
