// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckMediaFile.h"

#include <gst/pbutils/pbutils.h>

enum { INSPECTION_SECONDS = 15 };

// The text of what went wrong; NULL if nothing did.
static char *failure(GstDiscovererInfo *info, GError *error) {
    switch (gst_discoverer_info_get_result(info)) {
        case GST_DISCOVERER_OK:
            return NULL;
        case GST_DISCOVERER_MISSING_PLUGINS: {
            const gchar **details = gst_discoverer_info_get_missing_elements_installer_details(info);
            // The fourth of the bars parts what a person can read from the rest: gstreamer|1.0|program|description|…
            gchar **parts = g_strsplit(details != NULL && details[0] != NULL ? details[0] : "", "|", 5);
            char *text = g_strdup_printf("a GStreamer plugin is missing: %s",
                                         g_strv_length(parts) > 3 ? parts[3] : "the file does not say which");
            g_strfreev(parts);
            return text;
        }
        case GST_DISCOVERER_TIMEOUT:
            return g_strdup("nothing could be read from it in time");
        default:
            return g_strdup(error != NULL ? error->message : "GStreamer does not know what it is");
    }
}

static bool has_moving_pictures(GList *streams) {
    for (GList *stream = streams; stream != NULL; stream = stream->next) {
        if (!gst_discoverer_video_info_is_image(stream->data)) return true;
    }
    return false;
}

char *CTapedeck_inspect_media(const char *path, CTapedeckMediaFacts *facts) {
    GError *error = NULL;
    char *uri = gst_filename_to_uri(path, &error);
    GstDiscoverer *discoverer = uri != NULL ? gst_discoverer_new(INSPECTION_SECONDS * GST_SECOND, &error) : NULL;
    GstDiscovererInfo *info = discoverer != NULL ? gst_discoverer_discover_uri(discoverer, uri, &error) : NULL;
    char *text = info != NULL ? failure(info, error)
                              : g_strdup(error != NULL ? error->message : "GStreamer cannot look into files");
    if (text == NULL) {
        GList *video = gst_discoverer_info_get_video_streams(info);
        GList *audio = gst_discoverer_info_get_audio_streams(info);
        facts->has_video = has_moving_pictures(video);
        facts->has_audio = audio != NULL;
        facts->is_still = video != NULL && !facts->has_video;
        gst_discoverer_stream_info_list_free(video);
        gst_discoverer_stream_info_list_free(audio);
    }
    if (info != NULL) gst_discoverer_info_unref(info);
    if (discoverer != NULL) g_object_unref(discoverer);
    g_clear_error(&error);
    g_free(uri);
    return text;
}
