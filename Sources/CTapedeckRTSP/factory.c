// SPDX-License-Identifier: Apache-2.0

#include "factory.h"

static const char FEED[] = "tapedeck-feed";

// Clients synchronise audio and video by reports; the usual five seconds are too long to wait for it.
#define REPORT_INTERVAL ((guint64)(GST_SECOND / 2))

// Packets that may wait for the clients of one way of sending, by TCP or by UDP: some seconds of video.
#define MAXIMUM_WAITING 4096u

typedef struct {
    GstRTSPMediaFactory parent;
    RTSPFeed *feeds[RTSP_MAXIMUM_FEEDS];
    unsigned feed_count;
} Factory;

typedef GstRTSPMediaFactoryClass FactoryClass;

static GType factory_get_type(void);
G_DEFINE_TYPE(Factory, factory, GST_TYPE_RTSP_MEDIA_FACTORY)

static GstElement *create_element(GstRTSPMediaFactory *self, const GstRTSPUrl *url) {
    (void)url;
    Factory *factory = (Factory *)self;
    if (factory->feed_count == 0) return NULL;
    GstElement *bin = gst_bin_new(NULL);
    CTapedeckRTSPTimes *times = CTapedeck_rtsp_times_new();
    for (unsigned index = 0; index < factory->feed_count; index++) {
        char name[8];
        g_snprintf(name, sizeof(name), "pay%u", index);
        rtsp_feed_drain(factory->feeds[index]);
        GstElement *source = rtsp_source_new(name, factory->feeds[index], times);
        if (source != NULL) gst_bin_add(GST_BIN(bin), source);
    }
    CTapedeck_rtsp_times_unref(times);
    return bin;
}

// Whatever path it was asked for at, the packets are there once.
static char *gen_key(GstRTSPMediaFactory *self, const GstRTSPUrl *url) {
    (void)url;
    return g_strdup_printf("%p", (void *)self);
}

static void release_feed(gpointer feed) { rtsp_feed_unref(feed); }

// GstRTSPStream puts a queue for one buffer before the sink of each way: TCP clients that take nothing would hold up those
// by UDP.
static void on_element(GstBin *bin, GstElement *element, gpointer user) {
    (void)bin;
    (void)user;
    GstElementFactory *factory = gst_element_get_factory(element);
    if (factory == NULL || g_strcmp0(GST_OBJECT_NAME(factory), "queue") != 0) return;
    g_object_set(element, "max-size-buffers", MAXIMUM_WAITING, NULL);
    gst_util_set_object_arg(G_OBJECT(element), "leaky", "downstream");
}

static void on_prepared(GstRTSPMedia *media, gpointer user) {
    (void)user;
    GstRTSPStream *first = gst_rtsp_media_get_stream(media, 0);
    GstBin *bin = first == NULL ? NULL : gst_rtsp_stream_get_joined_bin(first);
    if (bin != NULL) {
        g_signal_connect(bin, "element-added", G_CALLBACK(on_element), NULL);
        gst_object_unref(bin);
    }
    for (guint index = 0; index < gst_rtsp_media_n_streams(media); index++) {
        GObject *session = gst_rtsp_stream_get_rtpsession(gst_rtsp_media_get_stream(media, index));
        if (session == NULL) continue;
        g_object_set(session, "rtcp-min-interval", REPORT_INTERVAL, NULL);
        g_object_unref(session);
    }
}

static void configure(GstRTSPMediaFactory *self, GstRTSPMedia *media) {
    Factory *factory = (Factory *)self;
    GST_RTSP_MEDIA_FACTORY_CLASS(factory_parent_class)->configure(self, media);
    g_signal_connect(media, "prepared", G_CALLBACK(on_prepared), NULL);
    for (unsigned index = 0; index < factory->feed_count; index++) {
        RTSPFeed *feed = factory->feeds[index];
        if (rtsp_feed_is_video(feed)) g_object_set_data_full(G_OBJECT(media), FEED, rtsp_feed_ref(feed), release_feed);
    }
}

static void factory_finalize(GObject *object) {
    Factory *factory = (Factory *)object;
    for (unsigned index = 0; index < factory->feed_count; index++) rtsp_feed_unref(factory->feeds[index]);
    G_OBJECT_CLASS(factory_parent_class)->finalize(object);
}

static void factory_class_init(FactoryClass *class) {
    class->create_element = create_element;
    class->gen_key = gen_key;
    class->configure = configure;
    G_OBJECT_CLASS(class)->finalize = factory_finalize;
}

static void factory_init(Factory *factory) { factory->feed_count = 0; }

GstRTSPMediaFactory *rtsp_factory_new(RTSPFeed *const *feeds, unsigned count) {
    Factory *factory = g_object_new(factory_get_type(), NULL);
    GstRTSPMediaFactory *self = GST_RTSP_MEDIA_FACTORY(factory);
    for (unsigned index = 0; index < count; index++) factory->feeds[index] = rtsp_feed_ref(feeds[index]);
    factory->feed_count = count;
    if (count == 0) {
        gst_rtsp_media_factory_add_role(self, RTSP_EVERYONE, GST_RTSP_PERM_MEDIA_FACTORY_ACCESS, G_TYPE_BOOLEAN,
                                        FALSE, NULL);
    }
    return self;
}

void rtsp_media_request_keyframe(GstRTSPMedia *media) {
    RTSPFeed *feed = g_object_get_data(G_OBJECT(media), FEED);
    if (feed != NULL) rtsp_feed_request_keyframe(feed);
}
