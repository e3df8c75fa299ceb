// SPDX-License-Identifier: Apache-2.0
//
// The way of a packet through rtpbin, made shorter: what it does for each packet between rtpsession and the reorder buffer,
// and behind it, is to find out where the packet belongs, which is known after the first one.
//
//   rtpsession ─┬► rtprtxreceive ► rtpstorage ► rtpssrcdemux ─┬► reorder buffer ─┬► rtpptdemux ► ghost pads ─┬► pad
//               └─────────────────────────────────────────────┘                  └───────────────────────────┘

#include "CTapedeckReceive.h"
#include "receive_path.h"
#include "reorder_buffer.h"

// rtprtxreceive forgets requests by the times of the packets that it sees, one second after they were made.
static const int64_t LONG_WAY_NANOSECONDS = 100000000;

// The reorder buffer that may get the packet, referenced; NULL if it must take the long way.
static GstElement *buffer_for(ReceivePath *path, PathSource *source, GstBuffer *packet) {
    uint8_t type = 0;
    gst_buffer_extract(packet, 1, &type, 1);
    GstElement *buffer = NULL;
    g_mutex_lock(&path->lock);
    if (source->buffer != NULL && reorder_buffer_has_exit(source->buffer, type & 0x7F)) {
        int64_t now = CTapedeck_monotonic_nanoseconds();
        if (now - source->last_long >= LONG_WAY_NANOSECONDS || !reorder_buffer_is_whole(source->buffer)) {
            source->last_long = now;
        } else {
            buffer = gst_object_ref(source->buffer);
        }
    }
    g_mutex_unlock(&path->lock);
    return buffer;
}

// Streaming thread, behind rtpsession.
static GstPadProbeReturn on_passed(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    ReceivePath *path = user;
    if (path->entering == NULL) return GST_PAD_PROBE_OK;
    counter_add_alone(&path->entering->passed, 1);
    GstBuffer *packet = GST_PAD_PROBE_INFO_BUFFER(info);
    GstElement *buffer = buffer_for(path, path->entering, packet);
    counter_add_alone(buffer != NULL ? &path->short_packets : &path->long_packets, 1);
    if (buffer == NULL) return GST_PAD_PROBE_OK;
    // An error would stop every track of the connection; one that stays is met by what takes the long way.
    gst_pad_chain(reorder_buffer_sink(buffer), packet);
    gst_object_unref(buffer);
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_OK;
    return GST_PAD_PROBE_HANDLED;
}

// The element behind srtpdec.
typedef struct {
    ReceivePath *path;
    bool is_linked;
    GstPad *session_sink;
} Follower;

static bool sees_follower(void *user, GstPad *pad, GstElement *element) {
    Follower *follower = user;
    follower->is_linked = true;
    if (g_strcmp0(receive_path_factory(element), "rtpsession") != 0) return false;
    follower->session_sink = gst_object_ref(pad);
    if (receive_path_watch(follower->path, element, "recv_rtp_src", on_passed)) {
        atomic_store_explicit(&follower->path->has_session, true, memory_order_relaxed);
    }
    return false;
}

GstPad *session_way_find(ReceivePath *path, GstElement *srtpdec) {
    Follower follower = {.path = path};
    GstPad *source = gst_element_get_static_pad(srtpdec, "rtp_src");
    GstPad *next = source != NULL ? gst_pad_get_peer(source) : NULL;
    if (next != NULL) receive_path_walk(next, sees_follower, &follower);
    path->looked_for_session = follower.is_linked;
    gst_clear_object(&next);
    gst_clear_object(&source);
    return follower.session_sink;
}

// Whether the element passes on packets of a stream and a payload type that it knows, and does nothing else to them.
static bool only_passes(GstElement *element) {
    static const char *const passing[] = {"rtpptdemux", "rtpssrcdemux", "rtpstorage", "rtprtxreceive", "rtpreddec", NULL};
    gboolean passes = g_strv_contains(passing, receive_path_factory(element));
    if (g_strcmp0(receive_path_factory(element), "rtpulpfecdec") == 0) g_object_get(element, "passthrough", &passes, NULL);
    return passes;
}

// Elements on the way up from a track's pad.
typedef struct {
    GstElement *buffer;
    bool has_session;
} WayUp;

static bool sees_above(void *user, GstPad *pad, GstElement *element) {
    (void)pad;
    WayUp *up = user;
    // The sink of rtpsession has another name: nothing is above.
    up->has_session = g_strcmp0(receive_path_factory(element), "rtpsession") == 0;
    if (up->has_session) return false;
    if (up->buffer != NULL || reorder_buffer_sink(element) == NULL) return only_passes(element);
    up->buffer = gst_object_ref(element);
    return true;
}

bool session_way_takes(ReceivePath *path, PathTrack *track) {
    WayUp up = {0};
    receive_path_walk(track->pad, sees_above, &up);
    bool is_known = up.has_session && atomic_load(&path->has_session);
    if (!is_known) gst_clear_object(&up.buffer);
    track->buffer = up.buffer;
    return track->buffer != NULL;
}
