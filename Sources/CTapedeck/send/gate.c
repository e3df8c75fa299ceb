// SPDX-License-Identifier: Apache-2.0

#include <gst/video/video.h>
#include <string.h>

#include "CTapedeckGate.h"

struct CTapedeckGate {
    gatomicrefcount references;
    // Guards everything below: two captures may pass at once while one takes the place of the other.
    GMutex mutex;
    bool blanks;
    bool holds;
    // The buffer that is shown again and again, and its caps; NULL before the first.
    GstBuffer *held;
    GstCaps *held_caps;
    // A black frame of the last caps that one was made for.
    GstBuffer *black;
    GstCaps *black_caps;
};

CTapedeckGate *CTapedeck_gate_new(void) {
    CTapedeckGate *gate = g_new0(CTapedeckGate, 1);
    g_atomic_ref_count_init(&gate->references);
    g_mutex_init(&gate->mutex);
    return gate;
}

static void forget(GstBuffer **buffer, GstCaps **caps) {
    gst_clear_buffer(buffer);
    gst_clear_caps(caps);
}

void CTapedeck_gate_unref(CTapedeckGate *gate) {
    if (!g_atomic_ref_count_dec(&gate->references)) return;
    forget(&gate->held, &gate->held_caps);
    forget(&gate->black, &gate->black_caps);
    g_mutex_clear(&gate->mutex);
    g_free(gate);
}

static void release_gate(gpointer gate) { CTapedeck_gate_unref(gate); }

void CTapedeck_gate_set(CTapedeckGate *gate, bool blanks, bool holds) {
    g_mutex_lock(&gate->mutex);
    gate->blanks = blanks;
    gate->holds = holds;
    if (!holds) forget(&gate->held, &gate->held_caps);
    if (!blanks) forget(&gate->black, &gate->black_caps);
    g_mutex_unlock(&gate->mutex);
}

// NULL for formats that captures do not give.
static GstBuffer *black_picture(GstCaps *caps) {
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, caps) || GST_VIDEO_INFO_FORMAT(&info) != GST_VIDEO_FORMAT_I420) return NULL;
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&info), NULL);
    if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE)) {
        gst_buffer_unref(buffer);
        return NULL;
    }
    for (int plane = 0; plane < 3; plane++) {
        size_t size = (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane) * (size_t)GST_VIDEO_FRAME_COMP_HEIGHT(&frame, plane);
        memset(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane), plane == 0 ? 16 : 128, size);
    }
    gst_video_frame_unmap(&frame);
    return buffer;
}

// With a reference; NULL if there is none. Mutex held.
static GstBuffer *blank(CTapedeckGate *gate, GstBuffer *buffer, GstCaps *caps) {
    if (gst_structure_has_name(gst_caps_get_structure(caps, 0), "audio/x-raw")) {
        GstBuffer *silence = gst_buffer_new_allocate(NULL, gst_buffer_get_size(buffer), NULL);
        gst_buffer_memset(silence, 0, 0, gst_buffer_get_size(buffer));
        return silence;
    }
    if (gate->black == NULL || !gst_caps_is_equal(gate->black_caps, caps)) {
        forget(&gate->black, &gate->black_caps);
        gate->black = black_picture(caps);
        gate->black_caps = gst_caps_ref(caps);
    }
    return gate->black != NULL ? gst_buffer_ref(gate->black) : NULL;
}

// The buffer that replaces the given one, with a reference; NULL for nothing. Mutex held.
static GstBuffer *shown(CTapedeckGate *gate, GstBuffer *buffer, GstCaps *caps) {
    bool is_held = gate->holds && gate->held != NULL && gst_caps_is_equal(gate->held_caps, caps);
    GstBuffer *shown = gate->blanks ? blank(gate, buffer, caps) : gst_buffer_ref(is_held ? gate->held : buffer);
    if (gate->holds && !is_held && shown != NULL) {
        forget(&gate->held, &gate->held_caps);
        gate->held = gst_buffer_ref(shown);
        gate->held_caps = gst_caps_ref(caps);
    }
    return shown;
}

// Streaming thread of the capture pipeline. Owns the buffer in `info` while it runs.
static GstPadProbeReturn on_media(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    CTapedeckGate *gate = user;
    bool is_list = info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST;
    GstBuffer *buffer = is_list ? NULL : GST_PAD_PROBE_INFO_BUFFER(info), *other = NULL;
    g_mutex_lock(&gate->mutex);
    bool is_open = !gate->blanks && !gate->holds;
    GstCaps *caps = is_open ? NULL : gst_pad_get_current_caps(pad);
    if (caps != NULL && !is_list) other = shown(gate, buffer, caps);
    g_mutex_unlock(&gate->mutex);
    if (caps != NULL) gst_caps_unref(caps);
    if (is_open) return GST_PAD_PROBE_OK;
    // Whatever cannot be blanked must not be seen; raw media come one by one.
    if (other == NULL) return GST_PAD_PROBE_DROP;
    if (other != buffer) {
        GstBuffer *copy = gst_buffer_copy(other);
        gst_buffer_copy_into(copy, buffer, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS, 0, (gsize)-1);
        gst_buffer_unref(buffer);
        info->data = copy;
    }
    gst_buffer_unref(other);
    return GST_PAD_PROBE_OK;
}

void CTapedeck_gate_attach(CTapedeckGate *gate, GstPad *pad) {
    g_atomic_ref_count_inc(&gate->references);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_media, gate, release_gate);
}
