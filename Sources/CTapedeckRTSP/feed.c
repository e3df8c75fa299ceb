// SPDX-License-Identifier: Apache-2.0

#include "feed.h"

#include <string.h>
#include <sys/socket.h>

enum {
    RTCP_SENDER_REPORT = 200,
    RTCP_RECEIVER_REPORT = 201,
    RTCP_PAYLOAD_FEEDBACK = 206,
    // Size of a burst with a keyframe; the system may give less.
    RECEIVE_BUFFER = 1 << 20,
    MAXIMUM_READ = 4096,
};

#define REQUEST_INTERVAL ((int64_t)500000)

struct RTSPFeed {
    gatomicrefcount references;
    GSocket *rtp;
    GSocket *rtcp;
    GSource *reports;
    GstCaps *caps;
    bool is_video;
    int clock_rate;
    uint32_t ssrc;

    GMutex lock;
    bool has_report;
    int64_t report_time;
    uint32_t report_rtp_time;
    bool is_keyframe_wanted;
    int64_t last_request;
};

static GSocket *open_socket(const char *address, uint16_t port, uint16_t source_port, GError **error) {
    GSocket *socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_DATAGRAM, G_SOCKET_PROTOCOL_UDP, error);
    if (socket == NULL) return NULL;
    g_socket_set_blocking(socket, FALSE);
    GSocketAddress *own = g_inet_socket_address_new_from_string(address, port);
    GSocketAddress *worker = g_inet_socket_address_new_from_string("127.0.0.1", source_port);
    // Connected: the kernel throws away what others on this host send.
    bool is_open = own != NULL && g_socket_bind(socket, own, FALSE, error) &&
                   g_socket_connect(socket, worker, NULL, error);
    g_clear_object(&own);
    g_clear_object(&worker);
    if (!is_open) g_clear_object(&socket);
    return socket;
}

static void take_report(RTSPFeed *feed, const uint8_t *packet, gsize size) {
    // RFC 3550 section 6.4.1: a compound packet begins with the report.
    if (size < 28 || packet[0] >> 6 != 2 || packet[1] != RTCP_SENDER_REPORT) return;
    uint64_t ntp = GST_READ_UINT64_BE(packet + 8);
    g_mutex_lock(&feed->lock);
    feed->report_time = (int64_t)((ntp >> 32) * GST_SECOND + (((ntp & 0xFFFFFFFF) * GST_SECOND) >> 32));
    feed->report_rtp_time = GST_READ_UINT32_BE(packet + 16);
    feed->has_report = true;
    g_mutex_unlock(&feed->lock);
}

// The server's thread.
static gboolean on_reports(GSocket *socket, GIOCondition condition, gpointer user) {
    (void)condition;
    char packet[1500];
    for (int count = 0; count < 16; count++) {
        gssize size = g_socket_receive(socket, packet, sizeof(packet), NULL, NULL);
        if (size <= 0) break;
        take_report(user, (const uint8_t *)packet, (gsize)size);
    }
    return G_SOURCE_CONTINUE;
}

RTSPFeed *rtsp_feed_new(GMainContext *context, const char *address, const CTapedeckRTSPLine *line, GstCaps *caps,
                        char **error) {
    GError *failure = NULL;
    GSocket *rtp = open_socket(address, line->port, line->source_port, &failure);
    GSocket *rtcp = rtp == NULL ? NULL
                                : open_socket(address, (uint16_t)(line->port + 1), (uint16_t)(line->source_port + 1),
                                              &failure);
    if (rtcp == NULL) {
        const char *words = failure != NULL ? failure->message : "no address";
        *error = g_strdup_printf("sockets at %s:%u: %s", address, line->port, words);
        g_clear_error(&failure);
        g_clear_object(&rtp);
        return NULL;
    }
    g_socket_set_option(rtp, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER, NULL);
    RTSPFeed *feed = g_new0(RTSPFeed, 1);
    g_atomic_ref_count_init(&feed->references);
    g_mutex_init(&feed->lock);
    feed->rtp = rtp;
    feed->rtcp = rtcp;
    feed->caps = gst_caps_ref(caps);
    feed->ssrc = line->ssrc;
    const GstStructure *fields = gst_caps_get_structure(caps, 0);
    feed->is_video = g_strcmp0(gst_structure_get_string(fields, "media"), "video") == 0;
    if (!gst_structure_get_int(fields, "clock-rate", &feed->clock_rate)) feed->clock_rate = 0;
    feed->reports = g_socket_create_source(rtcp, G_IO_IN, NULL);
    g_source_set_callback(feed->reports, G_SOURCE_FUNC(on_reports), rtsp_feed_ref(feed),
                          (GDestroyNotify)rtsp_feed_unref);
    g_source_attach(feed->reports, context);
    return feed;
}

RTSPFeed *rtsp_feed_ref(RTSPFeed *feed) {
    g_atomic_ref_count_inc(&feed->references);
    return feed;
}

void rtsp_feed_unref(RTSPFeed *feed) {
    if (!g_atomic_ref_count_dec(&feed->references)) return;
    g_source_unref(feed->reports);
    g_object_unref(feed->rtp);
    g_object_unref(feed->rtcp);
    gst_caps_unref(feed->caps);
    g_mutex_clear(&feed->lock);
    g_free(feed);
}

void rtsp_feed_close(RTSPFeed *feed) { g_source_destroy(feed->reports); }

GSocket *rtsp_feed_socket(RTSPFeed *feed) { return feed->rtp; }

GstCaps *rtsp_feed_caps(RTSPFeed *feed) { return feed->caps; }

bool rtsp_feed_is_video(RTSPFeed *feed) { return feed->is_video; }

void rtsp_feed_drain(RTSPFeed *feed) {
    char packet[16];
    for (int count = 0; count < MAXIMUM_READ; count++) {
        if (g_socket_receive_with_blocking(feed->rtp, packet, sizeof(packet), FALSE, NULL, NULL) < 0) break;
    }
}

void rtsp_feed_request_keyframe(RTSPFeed *feed) {
    if (!feed->is_video) return;
    g_mutex_lock(&feed->lock);
    feed->is_keyframe_wanted = true;
    g_mutex_unlock(&feed->lock);
    rtsp_feed_send_request(feed);
}

void rtsp_feed_send_request(RTSPFeed *feed) {
    g_mutex_lock(&feed->lock);
    // The clock is not asked for each packet.
    int64_t now = feed->is_keyframe_wanted ? g_get_monotonic_time() : 0;
    bool is_due = feed->is_keyframe_wanted &&
                  (feed->last_request == 0 || now - feed->last_request >= REQUEST_INTERVAL);
    if (is_due) {
        feed->is_keyframe_wanted = false;
        feed->last_request = now;
    }
    g_mutex_unlock(&feed->lock);
    if (!is_due) return;
    // An empty receiver report, and a PLI (RFC 4585 section 6.3.1).
    uint8_t packet[20] = {0x80, RTCP_RECEIVER_REPORT, 0, 1, 0, 0, 0, 1, 0x81, RTCP_PAYLOAD_FEEDBACK, 0, 2, 0, 0, 0, 1};
    GST_WRITE_UINT32_BE(packet + 16, feed->ssrc);
    g_socket_send_with_blocking(feed->rtcp, (const char *)packet, sizeof(packet), FALSE, NULL, NULL);
}

bool rtsp_feed_sample_time(RTSPFeed *feed, uint32_t rtp_time, int64_t *time) {
    g_mutex_lock(&feed->lock);
    bool is_known = feed->has_report && feed->clock_rate > 0;
    if (is_known) {
        int32_t ticks = (int32_t)(rtp_time - feed->report_rtp_time);
        *time = feed->report_time + (int64_t)ticks * GST_SECOND / feed->clock_rate;
    }
    g_mutex_unlock(&feed->lock);
    return is_known;
}
