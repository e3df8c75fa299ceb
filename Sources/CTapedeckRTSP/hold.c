// SPDX-License-Identifier: Apache-2.0

#include "hold.h"

#include <stdbool.h>

enum { LONGEST_WAIT_MILLISECONDS = 3000, LOOK_MILLISECONDS = 5 };

static const char HELD[] = "tapedeck-held";

// The same check as that of GstRTSPAuth, which itself answers the client: for a client without access no media must be
// made.
static bool may_see(GstRTSPContext *context, GstRTSPMediaFactory *factory) {
    GstRTSPAuth *auth = context->auth;
    if (auth == NULL) return true;
    GstRTSPAuthClass *class = GST_RTSP_AUTH_GET_CLASS(auth);
    if (context->token == NULL && (class->authenticate == NULL || !class->authenticate(auth, context))) return false;
    const char *role = context->token == NULL
                           ? NULL
                           : gst_rtsp_token_get_string(context->token, GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE);
    GstRTSPPermissions *permissions = role == NULL ? NULL : gst_rtsp_media_factory_get_permissions(factory);
    if (permissions == NULL) return false;
    bool may = gst_rtsp_permissions_is_allowed(permissions, role, GST_RTSP_PERM_MEDIA_FACTORY_ACCESS) &&
               gst_rtsp_permissions_is_allowed(permissions, role, GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT);
    gst_rtsp_permissions_unref(permissions);
    return may;
}

// The media of a factory, prepared once more than their users count; NULL if they cannot be had.
static GstRTSPMedia *prepared(GstRTSPMediaFactory *factory, GstRTSPContext *context, GstRTSPThreadPool *threads) {
    for (int waited = 0; waited < LONGEST_WAIT_MILLISECONDS; waited += LOOK_MILLISECONDS) {
        GstRTSPMedia *media = gst_rtsp_media_factory_construct(factory, context->uri);
        if (media == NULL) return NULL;
        GstRTSPThread *thread = gst_rtsp_thread_pool_get_thread(threads, GST_RTSP_THREAD_TYPE_MEDIA, context);
        if (thread != NULL && gst_rtsp_media_prepare(media, thread)) return media;
        g_object_unref(media);
        if (thread == NULL) return NULL;
        // Those that go are forgotten by their factory at the end; then there are new ones.
        g_usleep(1000 * LOOK_MILLISECONDS);
    }
    return NULL;
}

static void let_go(gpointer media) {
    gst_rtsp_media_unprepare(media);
    g_object_unref(media);
}

// The client's thread, before it looks for the media itself.
static GstRTSPStatusCode on_request(GstRTSPClient *client, GstRTSPContext *context, gpointer is_of_stream) {
    GstRTSPMountPoints *mounts = gst_rtsp_client_get_mount_points(client);
    char *path = mounts == NULL || context->uri == NULL ? NULL : gst_rtsp_mount_points_make_path(mounts, context->uri);
    int matched = 0;
    GstRTSPMediaFactory *factory =
        path == NULL ? NULL : gst_rtsp_mount_points_match(mounts, path, is_of_stream != NULL ? &matched : NULL);
    GstRTSPThreadPool *threads = gst_rtsp_client_get_thread_pool(client);
    if (factory != NULL && threads != NULL && may_see(context, factory)) {
        GstRTSPMedia *media = prepared(factory, context, threads);
        g_object_set_data_full(G_OBJECT(client), HELD, media, media != NULL ? let_go : NULL);
    }
    g_clear_object(&threads);
    g_clear_object(&factory);
    g_free(path);
    g_clear_object(&mounts);
    return GST_RTSP_STS_OK;
}

static void on_answered(GstRTSPClient *client, GstRTSPContext *context, gpointer user) {
    (void)context, (void)user;
    g_object_set_data(G_OBJECT(client), HELD, NULL);
}

void rtsp_client_hold_media_for_setup(GstRTSPClient *client) {
    GstRTSPContext *context = gst_rtsp_context_get_current();
    if (context != NULL && context->method == GST_RTSP_SETUP) on_request(client, context, GINT_TO_POINTER(TRUE));
}

void rtsp_client_hold_media(GstRTSPClient *client) {
    g_signal_connect(client, "pre-describe-request", G_CALLBACK(on_request), NULL);
    g_signal_connect(client, "describe-request", G_CALLBACK(on_answered), NULL);
    g_signal_connect(client, "setup-request", G_CALLBACK(on_answered), NULL);
}
