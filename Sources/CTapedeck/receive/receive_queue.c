// SPDX-License-Identifier: Apache-2.0

#include "receive_path.h"

// Feeding thread.
static bool is_empty(ReceivePath *path) {
    uint_fast64_t entered = atomic_load(&path->queue_entered);
    if (entered == atomic_load(&path->queue_left)) return true;
    guint waiting = 0;
    g_object_get(path->queue, "current-level-buffers", &waiting, NULL);
    // It leaks: what was dropped never comes out.
    if (waiting == 0) atomic_store(&path->queue_left, entered);
    return waiting == 0;
}

static bool is_open(ReceivePath *path) {
    if (!path->queue_has_passed) path->queue_has_passed = receive_path_is_ready(path->queue_downstream);
    return path->queue_has_passed && !gst_pad_is_blocked(path->queue_source) && is_empty(path);
}

static GstPadProbeReturn pass(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    ReceivePath *path = user;
    if (!is_open(path)) {
        atomic_fetch_add(&path->queue_entered, 1);
        return GST_PAD_PROBE_OK;
    }
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = gst_pad_chain(path->queue_downstream, GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_HANDLED;
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    (void)info;
    ReceivePath *path = user;
    atomic_fetch_add(&path->queue_left, 1);
    return GST_PAD_PROBE_OK;
}

// The queue hands every packet to another thread, a wake-up each. While webrtcbin blocks the queue's source pad (until ICE is
// connected, and during an ICE restart), and while anything waits in the queue, packets go through it as ever: the thread that
// reads the socket must not wait, because ICE lives on it. Other queues are left as they are.
void receive_queue_meet(ReceivePath *path, GstElement *queue) {
    GstObject *parent = gst_object_get_parent(GST_OBJECT(queue));
    bool receives = parent != NULL && g_strcmp0(G_OBJECT_TYPE_NAME(parent), "TransportReceiveBin") == 0;
    gst_clear_object(&parent);
    if (!receives || path->queue != NULL || path->settings.takes_whole_way) return;
    GstPad *source = gst_element_get_static_pad(queue, "src");
    path->queue_downstream = source != NULL ? gst_pad_get_peer(source) : NULL;
    if (path->queue_downstream != NULL) {
        path->queue = queue;
        path->queue_source = source;
        receive_path_watch(path, queue, "sink", pass);
        receive_path_watch(path, queue, "src", count);
        atomic_store(&path->bypasses_queue, true);
    }
    gst_clear_object(&source);
}

bool receive_queue_takes(ReceivePath *path, PathTrack *track) {
    (void)track;
    return atomic_load(&path->bypasses_queue);
}
