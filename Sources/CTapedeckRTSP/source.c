// SPDX-License-Identifier: Apache-2.0

#include "source.h"

// How long a stream may be silent before it is announced to clients all the same.
#define PATIENCE (GST_SECOND / 2)

typedef struct {
    GstBin parent;
    RTSPFeed *feed;
    CTapedeckRTSPTimes *times;
    GstElement *udp;
    // Streaming thread.
    bool has_begun;
    // Object lock: the newest packet, once one has come.
    bool has_packet;
    uint32_t sequence;
    uint32_t timestamp;
    GstClockTime time;
} Source;

typedef GstBinClass SourceClass;

enum { PROPERTY_PAYLOAD_TYPE = 1, PROPERTY_MTU, PROPERTY_STATS };

static GType source_get_type(void);
G_DEFINE_TYPE(Source, source, GST_TYPE_BIN)

static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    Source *source = user;
    source->has_begun = true;
    rtsp_feed_send_request(source->feed);
    GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    GST_PAD_PROBE_INFO_DATA(info) = buffer;
    uint8_t head[12];
    if (gst_buffer_extract(buffer, 0, head, sizeof(head)) != sizeof(head) || head[0] >> 6 != 2) {
        return GST_PAD_PROBE_DROP;
    }
    GstClockTime now = GST_BUFFER_DTS_OR_PTS(buffer);
    int64_t sampled;
    if (GST_CLOCK_TIME_IS_VALID(now) && rtsp_feed_sample_time(source->feed, GST_READ_UINT32_BE(head + 4), &sampled)) {
        GST_BUFFER_PTS(buffer) = (GstClockTime)CTapedeck_rtsp_times_place(source->times, sampled, (int64_t)now);
        GST_BUFFER_DTS(buffer) = GST_BUFFER_PTS(buffer);
    }
    GST_OBJECT_LOCK(source);
    source->has_packet = true;
    source->sequence = GST_READ_UINT16_BE(head + 2);
    source->timestamp = GST_READ_UINT32_BE(head + 4);
    source->time = GST_BUFFER_PTS(buffer);
    GST_OBJECT_UNLOCK(source);
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_request(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    Source *source = user;
    if (gst_event_has_name(GST_PAD_PROBE_INFO_EVENT(info), "GstForceKeyUnit")) {
        rtsp_feed_request_keyframe(source->feed);
    }
    return GST_PAD_PROBE_OK;
}

// The streaming thread, of what udpsrc says.
static void source_handle_message(GstBin *bin, GstMessage *message) {
    Source *source = (Source *)bin;
    const GstStructure *fields = gst_message_get_structure(message);
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ELEMENT || fields == NULL ||
        !gst_structure_has_name(fields, "GstUDPSrcTimeout")) {
        GST_BIN_CLASS(source_parent_class)->handle_message(bin, message);
        return;
    }
    gst_message_unref(message);
    if (source->has_begun) return;
    source->has_begun = true;
    GstPad *pad = gst_element_get_static_pad(source->udp, "src");
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
    gst_pad_push_event(pad, gst_event_new_gap(0, GST_CLOCK_TIME_NONE));
    gst_object_unref(pad);
}

// The payloader's data about its newest packet; NULL before the first. GstRTSPStream answers PLAY with it where the
// sink of a client has got nothing yet, and refuses otherwise.
static GstStructure *stats(Source *source) {
    int rate = 0;
    gst_structure_get_int(gst_caps_get_structure(rtsp_feed_caps(source->feed), 0), "clock-rate", &rate);
    GST_OBJECT_LOCK(source);
    GstStructure *result =
        source->has_packet
            ? gst_structure_new("application/x-rtp-payload-stats", "clock-rate", G_TYPE_UINT, (guint)rate, "running-time",
                                G_TYPE_UINT64, source->time, "seqnum", G_TYPE_UINT, source->sequence, "timestamp",
                                G_TYPE_UINT, source->timestamp, NULL)
            : NULL;
    GST_OBJECT_UNLOCK(source);
    return result;
}

static void source_get_property(GObject *object, guint property, GValue *value, GParamSpec *spec) {
    (void)spec;
    Source *source = (Source *)object;
    int type = 0;
    if (property == PROPERTY_STATS) {
        g_value_take_boxed(value, stats(source));
        return;
    }
    if (property == PROPERTY_MTU) {
        g_value_set_uint(value, 1500);
        return;
    }
    gst_structure_get_int(gst_caps_get_structure(rtsp_feed_caps(source->feed), 0), "payload", &type);
    g_value_set_uint(value, (guint)type);
}

static void source_finalize(GObject *object) {
    Source *source = (Source *)object;
    g_clear_pointer(&source->feed, rtsp_feed_unref);
    g_clear_pointer(&source->times, CTapedeck_rtsp_times_unref);
    G_OBJECT_CLASS(source_parent_class)->finalize(object);
}

static void source_class_init(SourceClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    object->get_property = source_get_property;
    object->finalize = source_finalize;
    GST_BIN_CLASS(class)->handle_message = source_handle_message;
    // Properties that GstRTSPStream reads from a payloader.
    g_object_class_install_property(
        object, PROPERTY_PAYLOAD_TYPE,
        g_param_spec_uint("pt", "Payload type", "RTP payload type", 0, 127, 96, G_PARAM_READABLE));
    g_object_class_install_property(
        object, PROPERTY_MTU, g_param_spec_uint("mtu", "MTU", "Largest packet", 28, G_MAXUINT, 1500, G_PARAM_READABLE));
    g_object_class_install_property(
        object, PROPERTY_STATS,
        g_param_spec_boxed("stats", "Stats", "The newest packet", GST_TYPE_STRUCTURE, G_PARAM_READABLE));
}

static void source_init(Source *source) { source->udp = NULL; }

GstElement *rtsp_source_new(const char *name, RTSPFeed *feed, CTapedeckRTSPTimes *times) {
    GstElement *udp = gst_element_factory_make("udpsrc", NULL);
    GstElement *tee = gst_element_factory_make("tee", NULL);
    if (udp == NULL || tee == NULL) {
        gst_clear_object(&udp);
        gst_clear_object(&tee);
        return NULL;
    }
    Source *source = g_object_new(source_get_type(), "name", name, NULL);
    source->feed = rtsp_feed_ref(feed);
    source->times = CTapedeck_rtsp_times_ref(times);
    source->udp = udp;
    g_object_set(udp, "socket", rtsp_feed_socket(feed), "close-socket", FALSE, "caps", rtsp_feed_caps(feed), "timeout",
                 (guint64)PATIENCE, NULL);
    // A stream that no client has set up ends nowhere. An error of this element would end the media for all clients.
    g_object_set(tee, "allow-not-linked", TRUE, NULL);
    gst_bin_add_many(GST_BIN(source), udp, tee, NULL);
    gst_element_link(udp, tee);
    GstPad *pad = gst_element_get_static_pad(udp, "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_packet, source, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_request, source, NULL);
    gst_object_unref(pad);
    GstPad *end = gst_element_request_pad_simple(tee, "src_%u");
    gst_element_add_pad(GST_ELEMENT(source), gst_ghost_pad_new("src", end));
    gst_object_unref(end);
    return GST_ELEMENT(source);
}
