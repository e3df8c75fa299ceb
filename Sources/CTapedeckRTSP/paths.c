// SPDX-License-Identifier: Apache-2.0

#include "paths.h"

#include <stdbool.h>
#include <string.h>

#include "hold.h"

static const char NOT_ESCAPED[] = "-._~=";

// Decoded once, and escaped again in one way: letters, digits and - . _ ~ = stay.
static char *canonical(const char *path) {
    GString *text = g_string_new(NULL);
    for (const char *at = path; *at != 0; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '/') {
            // An end with a slash, or two of them, is no other path.
            if (at[1] != '/' && at[1] != 0) g_string_append_c(text, '/');
            continue;
        }
        if (byte == '%' && g_ascii_isxdigit(at[1]) && g_ascii_isxdigit(at[2])) {
            byte = (unsigned char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2]));
            at += 2;
        }
        if (g_ascii_isalnum(byte) || (byte != 0 && strchr(NOT_ESCAPED, byte) != NULL)) {
            g_string_append_c(text, (char)byte);
        } else {
            g_string_append_printf(text, "%%%02X", byte);
        }
    }
    if (text->len == 0) g_string_append_c(text, '/');
    return g_string_free(text, FALSE);
}

static bool is_mounted(GstRTSPMountPoints *mounts, const char *path) {
    gint matched = 0;
    GstRTSPMediaFactory *factory = gst_rtsp_mount_points_match(mounts, path, &matched);
    if (factory == NULL) return false;
    g_object_unref(factory);
    return path[matched] == 0 || g_str_has_prefix(path + matched, "/stream=");
}

static char *path_of(GstRTSPMountPoints *mounts, const GstRTSPUrl *url) {
    char *path = canonical(url->abspath != NULL ? url->abspath : "/");
    if (mounts == NULL || is_mounted(mounts, path)) return path;
    GstRTSPMediaFactory *nowhere = gst_rtsp_mount_points_match(mounts, RTSP_NOWHERE, NULL);
    if (nowhere == NULL) return path;
    g_object_unref(nowhere);
    g_free(path);
    return g_strdup(RTSP_NOWHERE);
}

// MARK: Mount points

typedef GstRTSPMountPoints PlainMounts;
typedef GstRTSPMountPointsClass PlainMountsClass;

static GType plain_mounts_get_type(void);
G_DEFINE_TYPE(PlainMounts, plain_mounts, GST_TYPE_RTSP_MOUNT_POINTS)

static void plain_mounts_class_init(PlainMountsClass *class) { class->make_path = path_of; }

static void plain_mounts_init(PlainMounts *mounts) { (void)mounts; }

GstRTSPMountPoints *rtsp_mount_points_new(void) { return g_object_new(plain_mounts_get_type(), NULL); }

// MARK: Clients

typedef GstRTSPClient PlainClient;
typedef GstRTSPClientClass PlainClientClass;

static GType plain_client_get_type(void);
G_DEFINE_TYPE(PlainClient, plain_client, GST_TYPE_RTSP_CLIENT)

static char *path_from_url(GstRTSPClient *client, const GstRTSPUrl *url) {
    rtsp_client_hold_media_for_setup(client);
    GstRTSPMountPoints *mounts = gst_rtsp_client_get_mount_points(client);
    char *path = path_of(mounts, url);
    if (mounts != NULL) g_object_unref(mounts);
    return path;
}

static void plain_client_class_init(PlainClientClass *class) { class->make_path_from_uri = path_from_url; }

static void plain_client_init(PlainClient *client) { (void)client; }

// MARK: Server

typedef GstRTSPServer PlainServer;
typedef GstRTSPServerClass PlainServerClass;

static GType plain_server_get_type(void);
G_DEFINE_TYPE(PlainServer, plain_server, GST_TYPE_RTSP_SERVER)

static GstRTSPClient *create_client(GstRTSPServer *server) {
    GstRTSPClient *client = g_object_new(plain_client_get_type(), NULL);
    GstRTSPSessionPool *sessions = gst_rtsp_server_get_session_pool(server);
    GstRTSPMountPoints *mounts = gst_rtsp_server_get_mount_points(server);
    GstRTSPAuth *auth = gst_rtsp_server_get_auth(server);
    GstRTSPThreadPool *threads = gst_rtsp_server_get_thread_pool(server);
    gst_rtsp_client_set_session_pool(client, sessions);
    gst_rtsp_client_set_mount_points(client, mounts);
    gst_rtsp_client_set_content_length_limit(client, gst_rtsp_server_get_content_length_limit(server));
    gst_rtsp_client_set_auth(client, auth);
    gst_rtsp_client_set_thread_pool(client, threads);
    g_clear_object(&sessions);
    g_clear_object(&mounts);
    g_clear_object(&auth);
    g_clear_object(&threads);
    return client;
}

static void plain_server_class_init(PlainServerClass *class) { class->create_client = create_client; }

static void plain_server_init(PlainServer *server) { (void)server; }

GstRTSPServer *rtsp_plain_server_new(void) { return g_object_new(plain_server_get_type(), NULL); }
