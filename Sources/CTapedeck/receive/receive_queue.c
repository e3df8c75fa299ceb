// SPDX-License-Identifier: Apache-2.0

#include <stdatomic.h>

#include "CTapedeckReceive.h"

// The way around a queue, for the thread that feeds it.
typedef struct {
    gatomicrefcount references;
    GstElement *queue;
    GstPad *queue_source;
    GstPad *downstream;
    // Whether the queue has passed anything on: before that, downstream is not ready. Feeding thread only.
    bool has_passed;
    // Buffers that were put into the queue, and that came out of it.
    atomic_uint_fast64_t entered;
    atomic_uint_fast64_t left;
} Shortcut;

static bool is_empty(Shortcut *shortcut) {
    uint_fast64_t entered = atomic_load(&shortcut->entered);
    if (entered == atomic_load(&shortcut->left)) return true;
    guint waiting = 0;
    g_object_get(shortcut->queue, "current-level-buffers", &waiting, NULL);
    // It leaks: what was dropped never comes out.
    if (waiting == 0) atomic_store(&shortcut->left, entered);
    return waiting == 0;
}

static bool is_open(Shortcut *shortcut) {
    if (!shortcut->has_passed) {
        GstEvent *segment = gst_pad_get_sticky_event(shortcut->downstream, GST_EVENT_SEGMENT, 0);
        if (segment == NULL) return false;
        gst_event_unref(segment);
        shortcut->has_passed = true;
    }
    return !gst_pad_is_blocked(shortcut->queue_source) && is_empty(shortcut);
}

static GstPadProbeReturn pass(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    Shortcut *shortcut = user;
    if (!is_open(shortcut)) {
        atomic_fetch_add(&shortcut->entered, 1);
        return GST_PAD_PROBE_OK;
    }
    GST_PAD_PROBE_INFO_FLOW_RETURN(info) = gst_pad_chain(shortcut->downstream, GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_HANDLED;
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    (void)info;
    Shortcut *shortcut = user;
    atomic_fetch_add(&shortcut->left, 1);
    return GST_PAD_PROBE_OK;
}

static void release_shortcut(gpointer user) {
    Shortcut *shortcut = user;
    if (!g_atomic_ref_count_dec(&shortcut->references)) return;
    gst_object_unref(shortcut->downstream);
    g_free(shortcut);
}

bool CTapedeck_shorten_receive_queue(GstElement *queue) {
    GstObject *parent = gst_object_get_parent(GST_OBJECT(queue));
    if (parent == NULL) return false;
    bool receives = g_strcmp0(G_OBJECT_TYPE_NAME(parent), "TransportReceiveBin") == 0;
    gst_object_unref(parent);
    GstPad *source = gst_element_get_static_pad(queue, "src");
    GstPad *downstream = source ? gst_pad_get_peer(source) : NULL;
    GstPad *sink = gst_element_get_static_pad(queue, "sink");
    bool is_shortened = receives && downstream != NULL && sink != NULL;
    if (is_shortened) {
        Shortcut *shortcut = g_new0(Shortcut, 1);
        g_atomic_ref_count_init(&shortcut->references);
        g_atomic_ref_count_inc(&shortcut->references);
        // No references: the probes are on the queue's own pads, and go with them.
        shortcut->queue = queue;
        shortcut->queue_source = source;
        shortcut->downstream = gst_object_ref(downstream);
        gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER, pass, shortcut, release_shortcut);
        gst_pad_add_probe(source, GST_PAD_PROBE_TYPE_BUFFER, count, shortcut, release_shortcut);
    }
    gst_clear_object(&source);
    gst_clear_object(&downstream);
    gst_clear_object(&sink);
    return is_shortened;
}
