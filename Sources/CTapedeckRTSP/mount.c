// SPDX-License-Identifier: Apache-2.0

#include <gst/sdp/sdp.h>

#include "factory.h"
#include "server.h"

// How long the goodbye may take before a session is ended.
#define GOODBYE_MILLISECONDS 500

// The media that are prepared: they may outlive their mount.
typedef struct {
    gatomicrefcount references;
    GMutex lock;
    GPtrArray *media;
} Audience;

struct CTapedeckRTSPMount {
    CTapedeckRTSPServer *server;
    GstRTSPMediaFactory *factory;
    char **paths;
    RTSPFeed *feeds[RTSP_MAXIMUM_FEEDS];
    unsigned feed_count;
    Audience *audience;
};

// MARK: Media

static Audience *audience_new(void) {
    Audience *audience = g_new0(Audience, 1);
    g_atomic_ref_count_init(&audience->references);
    g_mutex_init(&audience->lock);
    audience->media = g_ptr_array_new_with_free_func(g_object_unref);
    return audience;
}

static Audience *audience_ref(Audience *audience) {
    g_atomic_ref_count_inc(&audience->references);
    return audience;
}

static void audience_unref(Audience *audience) {
    if (!g_atomic_ref_count_dec(&audience->references)) return;
    g_ptr_array_unref(audience->media);
    g_mutex_clear(&audience->lock);
    g_free(audience);
}

static void drop_audience(gpointer audience, GClosure *closure) {
    (void)closure;
    audience_unref(audience);
}

static void on_unprepared(GstRTSPMedia *media, Audience *audience) {
    g_mutex_lock(&audience->lock);
    g_ptr_array_remove_fast(audience->media, media);
    g_mutex_unlock(&audience->lock);
}

static void on_configure(GstRTSPMediaFactory *factory, GstRTSPMedia *media, Audience *audience) {
    (void)factory;
    g_mutex_lock(&audience->lock);
    g_ptr_array_add(audience->media, g_object_ref(media));
    g_mutex_unlock(&audience->lock);
    g_signal_connect_data(media, "unprepared", G_CALLBACK(on_unprepared), audience_ref(audience), drop_audience, 0);
}

// MARK: Descriptions

// Fields of a description that hold in the worker's session only.
static gboolean is_kept(GQuark field, GValue *value, gpointer user) {
    (void)value;
    (void)user;
    const char *name = g_quark_to_string(field);
    return !g_str_has_prefix(name, "ssrc-") && !g_str_has_prefix(name, "a-");
}

static GstCaps *caps_of(const GstSDPMedia *media) {
    const char *format = gst_sdp_media_get_format(media, 0);
    if (format == NULL) return NULL;
    GstCaps *caps = gst_sdp_media_get_caps_from_media(media, (gint)g_ascii_strtoll(format, NULL, 10));
    if (caps == NULL || gst_caps_is_empty(caps)) {
        gst_clear_caps(&caps);
        return NULL;
    }
    caps = gst_caps_make_writable(caps);
    GstStructure *fields = gst_caps_get_structure(caps, 0);
    gst_sdp_media_attributes_to_caps(media, caps);
    gst_structure_set_name(fields, "application/x-rtp");
    gst_structure_filter_and_map_in_place(fields, is_kept, NULL);
    return caps;
}

static bool open_feeds(CTapedeckRTSPMount *mount, const CTapedeckRTSPMountSettings *settings, char **error) {
    GstSDPMessage *description = NULL;
    bool is_open = false;
    if (gst_sdp_message_new_from_text(settings->description, &description) != GST_SDP_OK) {
        *error = g_strdup("the description cannot be read");
        return false;
    }
    unsigned count = gst_sdp_message_medias_len(description);
    if (count == 0 || count > RTSP_MAXIMUM_FEEDS || count != settings->line_count) {
        *error = g_strdup("the description has other streams");
    } else {
        is_open = true;
    }
    for (unsigned index = 0; is_open && index < count; index++) {
        GstCaps *caps = caps_of(gst_sdp_message_get_media(description, index));
        RTSPFeed *feed = NULL;
        if (caps == NULL) {
            *error = g_strdup("the description names no format");
        } else {
            feed = rtsp_feed_new(mount->server->context, settings->address, &settings->lines[index], caps, error);
            gst_caps_unref(caps);
        }
        is_open = feed != NULL;
        if (is_open) mount->feeds[mount->feed_count++] = feed;
    }
    gst_sdp_message_free(description);
    return is_open;
}

// MARK: Mounting

static void allow(GstRTSPMediaFactory *factory, const char *user) {
    gst_rtsp_media_factory_add_role(factory, user, GST_RTSP_PERM_MEDIA_FACTORY_ACCESS, G_TYPE_BOOLEAN, TRUE,
                                    GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT, G_TYPE_BOOLEAN, TRUE, NULL);
}

static void make_factory(CTapedeckRTSPMount *mount, const CTapedeckRTSPMountSettings *settings) {
    CTapedeckRTSPServer *server = mount->server;
    mount->factory = rtsp_factory_new(mount->feeds, mount->feed_count);
    gst_rtsp_media_factory_set_shared(mount->factory, TRUE);
    gst_rtsp_media_factory_set_latency(mount->factory, 0);
    GstRTSPLowerTrans ways = GST_RTSP_LOWER_TRANS_TCP;
    // In datagrams nothing would be encrypted.
    if (!server->has_tls) ways |= GST_RTSP_LOWER_TRANS_UDP;
    gst_rtsp_media_factory_set_protocols(mount->factory, ways);
    if (!server->has_users) allow(mount->factory, RTSP_EVERYONE);
    for (unsigned index = 0; index < settings->user_count; index++) allow(mount->factory, settings->users[index]);
    g_signal_connect_data(mount->factory, "media-configure", G_CALLBACK(on_configure), audience_ref(mount->audience),
                          drop_audience, 0);
}

static void release(CTapedeckRTSPMount *mount) {
    for (unsigned index = 0; index < mount->feed_count; index++) {
        rtsp_feed_close(mount->feeds[index]);
        rtsp_feed_unref(mount->feeds[index]);
    }
    g_clear_object(&mount->factory);
    audience_unref(mount->audience);
    g_strfreev(mount->paths);
    g_free(mount);
}

CTapedeckRTSPMount *CTapedeck_rtsp_mount_new(CTapedeckRTSPServer *server, const CTapedeckRTSPMountSettings *settings,
                                             char **error) {
    CTapedeckRTSPMount *mount = g_new0(CTapedeckRTSPMount, 1);
    mount->server = server;
    mount->audience = audience_new();
    if (!open_feeds(mount, settings, error)) {
        release(mount);
        return NULL;
    }
    make_factory(mount, settings);
    mount->paths = g_new0(char *, settings->path_count + 1);
    for (unsigned index = 0; index < settings->path_count; index++) {
        mount->paths[index] = g_strdup(settings->paths[index]);
        gst_rtsp_mount_points_add_factory(server->mounts, settings->paths[index], g_object_ref(mount->factory));
    }
    return mount;
}

// MARK: Ending

typedef struct {
    CTapedeckRTSPServer *server;
    GPtrArray *media;
} Farewell;

static GstRTSPFilterResult of_media(GstRTSPSession *session, GstRTSPSessionMedia *item, gpointer user) {
    (void)session;
    Farewell *farewell = user;
    GstRTSPMedia *media = gst_rtsp_session_media_get_media(item);
    return g_ptr_array_find(farewell->media, media, NULL) ? GST_RTSP_FILTER_REF : GST_RTSP_FILTER_KEEP;
}

static GstRTSPFilterResult with_media(GstRTSPClient *client, GstRTSPSession *session, gpointer user) {
    (void)client;
    GList *found = gst_rtsp_session_filter(session, of_media, user);
    GstRTSPFilterResult result = found != NULL ? GST_RTSP_FILTER_REF : GST_RTSP_FILTER_KEEP;
    g_list_free_full(found, g_object_unref);
    return result;
}

static GstRTSPFilterResult shut_watchers_out(GstRTSPServer *server, GstRTSPClient *client, gpointer user) {
    (void)server;
    GList *found = gst_rtsp_client_session_filter(client, with_media, user);
    bool is_watching = found != NULL;
    g_list_free_full(found, g_object_unref);
    if (is_watching) rtsp_client_shut_out(client);
    return GST_RTSP_FILTER_KEEP;
}

// The server's thread, after the goodbye.
static gboolean end_sessions(gpointer user) {
    Farewell *farewell = user;
    gst_rtsp_server_client_filter(farewell->server->server, shut_watchers_out, farewell);
    return G_SOURCE_REMOVE;
}

static void free_farewell(gpointer user) {
    Farewell *farewell = user;
    g_ptr_array_unref(farewell->media);
    g_free(farewell);
}

void CTapedeck_rtsp_mount_free(CTapedeckRTSPMount *mount) {
    CTapedeckRTSPServer *server = mount->server;
    for (char **path = mount->paths; *path != NULL; path++) {
        gst_rtsp_mount_points_remove_factory(server->mounts, *path);
    }
    Farewell *farewell = g_new0(Farewell, 1);
    farewell->server = server;
    farewell->media = g_ptr_array_new_with_free_func(g_object_unref);
    Audience *audience = mount->audience;
    g_mutex_lock(&audience->lock);
    for (guint index = 0; index < audience->media->len; index++) {
        g_ptr_array_add(farewell->media, g_object_ref(g_ptr_array_index(audience->media, index)));
    }
    g_mutex_unlock(&audience->lock);
    for (guint index = 0; index < farewell->media->len; index++) {
        GstRTSPMedia *media = g_ptr_array_index(farewell->media, index);
        GstElement *element = gst_rtsp_media_get_element(media);
        // Ends in an RTCP BYE for each stream.
        gst_element_send_event(element, gst_event_new_eos());
        gst_object_unref(element);
    }
    GSource *timer = g_timeout_source_new(GOODBYE_MILLISECONDS);
    g_source_set_callback(timer, end_sessions, farewell, free_farewell);
    g_source_attach(timer, server->context);
    g_source_unref(timer);
    release(mount);
}
